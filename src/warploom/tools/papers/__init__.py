"""`warploom paper`: the tables and figures of the five papers, row by row beside ours.

Takes the name of a paper and of one of its items. Gives one report line each. Open `rows.py` first, then `command.py`.
"""
