"""An engine profile fitted to one's own runs."""
