"""Speculative decoding: what a draft gains and costs."""
