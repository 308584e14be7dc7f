"""`warploom solve`."""
