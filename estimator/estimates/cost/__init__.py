"""What requests cost, by an API or on one's own GPUs."""
