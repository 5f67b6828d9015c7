"""A receipt beside the estimate of its setting: what was said, what was measured, where they part."""
