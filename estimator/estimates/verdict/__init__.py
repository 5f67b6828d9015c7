"""One verdict on a plan: memory, speed and cost judged together, and what would change it."""
