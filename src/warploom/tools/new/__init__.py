"""`warploom new`: a commented file to begin with.

Takes a kind and a name. Gives a file that runs as it stands, and the command for it. Open `command.py` first; the files
are in `templates/`.
"""
