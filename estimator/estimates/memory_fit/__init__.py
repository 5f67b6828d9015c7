"""Whether a model and its load fit into a replica."""
