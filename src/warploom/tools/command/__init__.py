"""Common parts of all commands: options, limits, streams, report lines, how a command starts and ends.

Takes the functions of the commands. Gives commands with the same options, messages and exit codes. Open `entry.py` first, then
`outcome.py`.
"""
