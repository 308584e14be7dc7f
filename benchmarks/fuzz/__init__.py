"""Fuzzing of `warploom.ptx` at scale: `python -m benchmarks.fuzz --help`."""
