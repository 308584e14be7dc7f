"""A sketch on a bounded instance as a network of cells, gathers and folds, and what its spec demands of it."""
