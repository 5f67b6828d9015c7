"""How fast a replica answers under a load."""
