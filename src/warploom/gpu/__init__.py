"""CUDA: prints completed kernels, reads the print back, compiles and runs it; counts its work.

Takes a kernel IR without holes. Gives CUDA C++ (`cuda_source`), PTX from the compiler, arrays from a device, and estimates of
registers and time. Open `cuda.py` first, then `lower.py`, which maps IR nodes to C text. `__init__.pyi` says what the
package offers; a name is imported when it is first used.
"""

from warploom.core.lazy import lazy_package

__getattr__, __dir__, __all__ = lazy_package(__name__, __file__, frozenset({"lower", "read_back"}))
