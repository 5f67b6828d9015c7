"""How work is found, claimed, done and put right: chunks, last steps and derived files under leases."""
