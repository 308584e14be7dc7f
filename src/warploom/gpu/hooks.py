"""PTX rewriting inside Python's JIT compilers: Numba-CUDA and CuPy, as context managers.

    with numba_hook():            # kernels that Numba compiles inside are rewritten
        kernel[grid, block](...)
    module = cupy_raw_module(source)

Whatever goes wrong in a rewrite, the compiler's own PTX is used and one `RewriteWarning` says why.
"""

from __future__ import annotations

import importlib
import tempfile
import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from warploom.core import Diagnostic, UserError
from warploom.gpu.toolchain import compile_to_ptx
from warploom.ptx.shuffle import ShuffleOptions, shuffle
from warploom.ptx.syntax import parse


class RewriteWarning(UserWarning):
    """A PTX text was left as the compiler made it."""


def rewritten(ptx: str, options: ShuffleOptions | None = None, *, name: str = "<ptx>") -> str:
    """`ptx` with shuffles where they pay; unchanged, with a RewriteWarning, if it cannot be read or rewritten."""
    try:
        return shuffle(parse(ptx, name), options).text
    except Exception as error:
        first = (str(error).splitlines() or [type(error).__name__])[0]
        warnings.warn(f"{name} is used unchanged: {first}", RewriteWarning, stacklevel=2)
        return ptx


@contextmanager
def numba_hook(options: ShuffleOptions | None = None) -> Generator[None]:
    """Kernels compiled by numba-cuda inside are rewritten; link-time optimisation is off there, since it has no PTX.

    UserError (TOOL_MISSING) without the package numba-cuda. Kernels compiled before are not compiled again.
    """
    library = _required("numba.cuda.codegen", "numba-cuda").CUDACodeLibrary
    get_texts: Callable[..., list[str]] = library.get_asm_strs
    get_cubin: Callable[..., Any] = library.get_cubin

    def get_rewritten_texts(self: Any, cc: Any = None) -> list[str]:
        texts = get_texts(self, cc=cc)
        name = str(getattr(self, "name", "<numba>"))
        for index, text in enumerate(texts):
            if _MARK not in text:
                texts[index] = f"{rewritten(text, options, name=name)}\n{_MARK}\n"
        return texts

    def get_cubin_of_ptx(self: Any, cc: Any = None) -> Any:
        self._lto = False
        return get_cubin(self, cc=cc)

    library.get_asm_strs, library.get_cubin = get_rewritten_texts, get_cubin_of_ptx
    try:
        yield
    finally:
        library.get_asm_strs, library.get_cubin = get_texts, get_cubin


_MARK = "// warploom: seen"
"""Numba keeps the list of texts; each is rewritten once."""


def cupy_raw_module(source: str, arch: str | None = None, options: ShuffleOptions | None = None) -> Any:
    """`cupy.RawModule` of CUDA C++ `source`, compiled by NVRTC and rewritten; `arch` (`sm_90`) by default that of the device.

    UserError: TOOL_MISSING without CuPy, CUDA_ERROR for a faulty source.
    """
    cupy = _required("cupy", "cupy-cuda13x")
    target = arch or f"sm_{cupy.cuda.Device().compute_capability}"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.ptx"
        path.write_text(rewritten(compile_to_ptx(source, target), options, name="<cupy>"))
        module = cupy.RawModule(path=str(path))
        module.compile()
    return module


def _required(module: str, package: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        message = f"expected the package {package}, got: {error}"
        raise UserError(Diagnostic("TOOL_MISSING", message, fix=f"run: pip install {package}")) from error
