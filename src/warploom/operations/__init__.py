"""Scalar operations as data: one row for each operation says what it is called and means in each language."""
