"""`warploom scan`: operators, networks and kernels out of serial loops.

Takes Python files with loops or operators, pictures of networks. Gives operators with proofs, programs, code, rankings. Open
`lift.py` first.
"""
