"""One search for all open decisions: the driver and its strategies, budgets, statistics."""
