"""The second engine: it hands a whole network to z3, for cross-checks.

Takes a network with its requirements. Gives functions for the holes, or the answer that there are none. Open `engine.py` first.
"""
