"""`warploom choices`: decides kernels whose choices a text describes in the language of Telamon's paper.

Takes a file of `solve.notation`. Gives one line for each of its kernels: how many implementations it has, and some of them. Open
`command.py`.
"""
