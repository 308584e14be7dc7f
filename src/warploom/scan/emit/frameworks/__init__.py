"""Operators for frameworks of Python that take pieces of a list to many places: Dask, Polars, DuckDB, Spark, JAX.

Takes an operator. Gives a module: four functions `zero`, `update`, `merge`, `finish` and a few lines for the framework, or a
function around `jax.lax.associative_scan`. Open `aggregates.py` first. (Words of these texts are no names of kernels:
`emit/names.py` does not read this folder.)
"""

from warploom.scan.emit.frameworks.aggregates import AGGREGATES, aggregate_source, try_aggregate
from warploom.scan.emit.frameworks.jax_module import jax_source, try_jax

__all__ = ["AGGREGATES", "aggregate_source", "jax_source", "try_aggregate", "try_jax"]
