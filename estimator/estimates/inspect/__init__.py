"""What a config.json says of a model."""
