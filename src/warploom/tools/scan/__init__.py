"""`warploom scan`: operators, networks and kernels out of serial loops."""
