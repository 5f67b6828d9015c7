"""The command `aforo`: the questions of the API at a terminal, against a server or the engine in this process."""
