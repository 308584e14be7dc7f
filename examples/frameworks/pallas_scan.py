"""Pallas: a kernel that scans one row of prices per program; interpreted here, so that it needs no GPU or TPU."""

import jax
import numpy as np
from emitted import module_for
from falls import fall
from jax.experimental import pallas as pl

made = module_for("jax")


def falls_kernel(prices_ref, falls_ref):
    prices = prices_ref[...]
    values = tuple(jax.numpy.broadcast_to(part, prices.shape) for part in made.lift(prices))
    falls_ref[...] = made.project(jax.lax.associative_scan(made.combine, values, axis=1))[0]


prices = np.random.default_rng(0).integers(1, 1000, (8, 256)).astype(np.int32)
row = pl.BlockSpec((1, 256), lambda n: (n, 0))
shape = jax.ShapeDtypeStruct(prices.shape, prices.dtype)
scan = pl.pallas_call(
    falls_kernel,
    grid=(8,),
    in_specs=[row],
    out_specs=row,
    out_shape=shape,
    interpret=True,
)
falls = np.asarray(scan(prices))
print("as the loop:", all(falls[n, -1] == fall(prices[n].tolist()) for n in range(8)))
print("at every price:", all(falls[0, n] == fall(prices[0, : n + 1].tolist()) for n in range(256)))
