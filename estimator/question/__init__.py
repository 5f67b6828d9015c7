"""What may be asked: the nouns of a request, once."""
