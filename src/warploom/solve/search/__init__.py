"""One search for all open decisions: the driver and its strategies, budgets, statistics.

Takes a `Model` (choices, propagation, a bound, a cost) and a `Budget`. Gives an `Outcome`: answers found, whether the search is
complete, statistics. Open `driver.py` first.
"""
