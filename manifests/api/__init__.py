"""The endpoint of manifests."""
