"""The memory of a GPU: ledger, fit, what would fit instead."""
