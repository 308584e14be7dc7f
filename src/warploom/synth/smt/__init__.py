"""The second engine: a network handed to z3 whole, for cross-checks."""
