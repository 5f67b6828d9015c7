"""The documentation as pages: the Markdown of docs/ as it stands, found by four kinds and by search."""
