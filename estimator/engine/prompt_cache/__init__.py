"""What prompt caching saves on an API bill."""
