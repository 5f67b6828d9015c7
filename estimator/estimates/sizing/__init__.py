"""How many replicas, GPUs and nodes a demand needs."""
