"""Which GPU a version of a report speaks for: one line per GPU and workload, the winner, what would change it."""
