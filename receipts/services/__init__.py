"""What changes kept things; each function is one act."""
