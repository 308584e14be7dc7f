"""`warploom explore`."""
