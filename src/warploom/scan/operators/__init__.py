"""From a loop to a proved operator: normal forms, closed families, laws, identities.

Takes a `Loop` that `scan.reading` has read. Gives a `Lifting`: an associative operator, how an element becomes a state, and the
proof; or a refusal with its reason. Open `lifting.py` first: it calls the other stages in order.
"""
