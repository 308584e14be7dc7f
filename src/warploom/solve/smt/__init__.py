"""z3 behind vocabularies of our own: clauses, arithmetic, bit vectors.

Takes questions built with one of these vocabularies, and a limit. Gives a model, a proof that there is none, or unknown. Only
this package imports z3. Open `asking.py` first.
"""
