"""Five bill tools beside Aforo on the same usages: `make bench-bills` (docs/bill-tools.md)."""
