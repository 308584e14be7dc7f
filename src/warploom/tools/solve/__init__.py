"""`warploom solve`.

Takes a file with a dataflow program, or the name of one. Gives its solutions. Open `command.py` first, then `program.py`.
"""
