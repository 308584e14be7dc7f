"""`warploom ptx`: commands on PTX files."""
