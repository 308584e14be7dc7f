"""Warploom: invents GPU data movement and proves it right.

Takes sketches and specs (Python functions), dataflow programs, PTX, serial loops, tensor functions. Gives completed kernels and
operators with their proofs, and code for them. `__init__.pyi` beside this file says what the package offers and where each name
comes from; open it first. A name is imported when it is first used, so that the command line and small programs load only what
they need.
"""

import warploom.core.starting  # noqa: F401, I001  # pyright: ignore[reportUnusedImport]

import importlib
import os
import sys
from types import ModuleType

import lazy_loader  # pyright: ignore[reportMissingTypeStubs]

__version__ = "0.2.0"
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)  # pyright: ignore[reportUnknownVariableType]
_FUNCTIONS = frozenset({"layout", "sketch", "solve"})
"""Words of the API that are names of sub-packages, too."""


class _Root(ModuleType):
    """Keeps `wl.solve` the function when the sub-package of that name is loaded, which Python would put in its place."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _FUNCTIONS and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Root

if os.environ.get("WARPLOOM_RUN") == "1":
    importlib.import_module("warploom.tools.lint.drop_in").activate()
