"""`warploom list`.

Takes no arguments. Gives a table of what can be completed, solved, explored or lifted by name. Open `command.py` first.
"""
