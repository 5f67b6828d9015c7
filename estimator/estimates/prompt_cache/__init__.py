"""What caching of prompts saves."""
