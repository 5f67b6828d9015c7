"""Money: meters, price lists, API bills, own machines, break-even."""
