"""Files derived from the rows of a complete version."""
