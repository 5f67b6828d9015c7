"""Power and energy of GPUs."""
