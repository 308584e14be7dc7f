"""`warploom explore`.

Takes a kernel's name or file, a target and a budget. Gives the best implementation found, as report, code and page. Open
`command.py` first.
"""
