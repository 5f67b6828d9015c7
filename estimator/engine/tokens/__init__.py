"""Tokens of a text without its tokenizer."""
