"""Lengths and prices that questions of prompt caches share."""

LENGTHS = {"prefix_tokens": 20000, "suffix_tokens": 1000, "output_tokens": 500}


def usd(**meters):
    return {"currency": "USD", "meters": meters}


OPUS = usd(input="4", output="20", cache_read="0.2", cache_write_5m="5", cache_write_1h="8")
