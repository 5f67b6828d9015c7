"""Constants of an engine fitted to measured runs."""
