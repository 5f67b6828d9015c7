"""The rows of a version: stored as Parquet, read back, priced anew, and what they show."""
