"""A serving engine under load: how many sequences run, how they wait, what interferes."""
