"""The API of receipts."""
