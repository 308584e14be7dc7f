"""JAX: the operator inside `jax.lax.associative_scan`, on whatever device JAX has."""

import jax
import numpy as np
from emitted import module_for
from falls import fall

prices = np.random.default_rng(0).integers(1, 1000, 3000)
made = module_for("jax")
print("as the loop:", int(made.fall(prices)) == fall(prices.tolist()))
print("compiled:", int(jax.jit(made.fall)(prices)) == fall(prices.tolist()))
