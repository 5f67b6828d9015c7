"""From which volume one's own GPUs are cheaper than an API."""
