"""The engine: completions of a network by propagation and search.

Takes a network with its requirements, and a budget. Gives the functions that fill the holes, in order of cost, or the proof
that there are none. Open `engine.py` first, then `sketch_model.py`.
"""
