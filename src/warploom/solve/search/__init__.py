"""One search for all open decisions: the loop (`incumbent`), its orders, budgets, statistics.

Takes a `Model` (choices, propagation, a bound, a cost) and a `Budget`. Gives an `Outcome`: answers found, whether the search is
complete, statistics. Open `incumbent.py` first, then an order: `depth_first`, `best_first`, `mcts`, `refine`.
"""
