"""Completed kernels at given sizes: the proof on symbols and the independent check."""
