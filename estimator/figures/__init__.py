"""Every output figure and reason once: name, unit and meaning, which answers, report columns, files and docs read.

It imports nothing: the engine names its columns from here, and everything above reads the same entries.
"""
