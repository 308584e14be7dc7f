"""z3 behind vocabularies of our own: terms with sorts, linear formulas, words, clauses.

Takes questions built with one of these vocabularies, and a limit. Gives a model, a proof that there is none, or unknown. Only
this package imports z3. `builder.py` makes all terms but those of clauses, which go in as text, and `asking.py` puts every
question: open these two first.
"""
