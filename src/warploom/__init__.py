"""Warploom: invents GPU data movement and proves it right.

Takes sketches and specs (Python functions), dataflow programs, PTX, serial loops, tensor functions. Gives completed kernels and
operators with their proofs, and code for them. `__init__.pyi` beside this file says what the package offers and where each name
comes from; open it first. A name is imported when it is first used, so that the command line and small programs load only what
they need.
"""

import warploom.core.starting  # noqa: F401, I001  # pyright: ignore[reportUnusedImport]

import importlib
import os

from warploom.core.lazy import lazy_package

__version__ = "0.2.0"
__getattr__, __dir__, __all__ = lazy_package(__name__, __file__, frozenset({"layout", "sketch", "solve"}))


if os.environ.get("WARPLOOM_RUN") == "1":
    importlib.import_module("warploom.tools.lint.drop_in").activate()
