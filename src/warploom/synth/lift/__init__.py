"""Completed kernels at every size: one generic block, its stores matched with the cells of the spec."""
