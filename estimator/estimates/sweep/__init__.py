"""Many settings at once, as columns: the rows of a report."""
