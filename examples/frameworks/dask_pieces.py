"""Dask: the pieces of a bag are reduced where they are, and their states merged in order."""

import dask
import dask.bag
import numpy as np
from emitted import module_for
from falls import fall

prices = np.random.default_rng(0).integers(1, 1000, 3000).tolist()
made = module_for("dask")
with dask.config.set(scheduler="synchronous"):
    print("17 pieces:", made.of_bag(dask.bag.from_sequence(prices, npartitions=17)).compute() == fall(prices))
left, right = made.update(made.zero(), prices[:1000]), made.update(made.zero(), prices[1000:])
print("by hand:", made.finish(made.merge(left, right)) == fall(prices))
