"""z3 behind vocabularies of our own: clauses, arithmetic, bit vectors."""
