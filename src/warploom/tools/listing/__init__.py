"""`warploom list`."""
