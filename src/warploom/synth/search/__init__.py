"""The engine: completions of a network by propagation and search."""
