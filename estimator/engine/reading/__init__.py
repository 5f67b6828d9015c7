"""From a config.json, or a few figures, to a model."""
