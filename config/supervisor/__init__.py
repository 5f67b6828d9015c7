"""What `make run` starts: web and worker as separate processes, kept alive, stopped together."""
