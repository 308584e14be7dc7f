"""The Python API, `import warploom as wl`: complete sketches, solve dataflow programs, lift loops, explore kernels, work on PTX.

Takes objects of Python (a sketch, a function, a text). Gives a `Result`. Each function does what the command of its name
does, by the same code in `tools`. Open `result.py` first. A name is imported when it is first used; `__init__.pyi` says where it
is.
"""

import lazy_loader  # pyright: ignore[reportMissingTypeStubs]

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)  # pyright: ignore[reportUnknownVariableType]
