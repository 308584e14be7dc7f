"""Polars: one result for each group of rows, and one over frames that come one after the other."""

import numpy as np
import polars as pl
from emitted import module_for
from falls import fall

prices = np.random.default_rng(0).integers(1, 1000, 300)
frame = pl.DataFrame({"share": np.arange(300) % 3, "price": prices})
made = module_for("polars")
groups = frame.group_by("share", maintain_order=True).agg(made.expression("price"))
print("groups:", groups["price"].to_list() == [fall(prices[i::3].tolist()) for i in range(3)])
print("batches:", made.of_batches([frame[:100], frame[100:]], "price") == fall(prices.tolist()))
