"""Readers of commands and YAML: text in, what starts servers out. They know neither the catalog nor Django."""
