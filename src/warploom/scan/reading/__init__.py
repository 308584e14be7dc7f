"""A user's loop or operator, read from Python source as expressions."""
