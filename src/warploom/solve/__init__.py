"""Finite-domain search shared by every open decision; the SMT layer; executor, journal, event log, result cache. Knows no IR.

Takes a `Model` for the search, formulas for z3, tasks for the executor. Gives answers with statistics, kept in a cache. Open
`model.py` first, then `search/incumbent.py`. A name is imported when it is first used: `__init__.pyi` says where it is. So z3
is loaded by those who ask it.
"""

import lazy_loader  # pyright: ignore[reportMissingTypeStubs]

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)  # pyright: ignore[reportUnknownVariableType]
