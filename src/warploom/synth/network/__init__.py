"""A sketch at given sizes as a network of cells, gathers and folds.

Takes a sketch, its spec and sizes. Gives a `Network`, and for every cell the values or multisets that the spec demands of it.
Open `network.py` first, then `lower.py` and `requirements.py`.
"""
