"""The kernel IR: nodes, text form, verifier, reference interpreter, rewriting.

Takes nodes from a front end, or text. Gives a verified `Kernel`, its text, and what a run of it computes, costs and does wrong.
Open `nodes.py` first, then `verify.py` and `interp.py`.
"""
