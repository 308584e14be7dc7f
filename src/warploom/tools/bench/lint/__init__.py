"""`warploom bench lint`: what `lint` finds of planted mistakes, and what it says of kernels without one.

Takes nothing but names of cases. Gives a report line for each. Open `command.py`, then `planting.py` and `judging.py`.
"""
