"""Manifests in: from what starts a server to the question that it asks."""
