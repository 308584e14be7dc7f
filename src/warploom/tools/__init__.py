"""The command line and its pages.

Takes arguments and files of the user. Gives report lines, JSON, HTML pages, exit codes. Open `cli.py` first: it lists the
commands. Each command has a package of its own; what they share is in `command`.
"""
