"""The kernel IR: nodes, text form, verifier, reference interpreter, rewriting."""
