"""Cubins and kernels that calls have made so far: each text is compiled once for an architecture, loaded once into a context."""

from __future__ import annotations

import threading
from functools import cache
from typing import Any

from warploom.gpu.device import device_arch, function_of
from warploom.gpu.toolchain import Compiled, compile_cuda

_lock = threading.RLock()
_compiled: dict[tuple[str, tuple[str, ...], str], Compiled] = {}
_functions: dict[tuple[int, str, tuple[str, ...], str, str, int], Any] = {}
"""Modules stay loaded: a launch may still run when its caller has gone."""

arch_of_device = cache(device_arch)


def compiled_for(text: str, options: tuple[str, ...], arch: str) -> Compiled:
    """UserError: TOOL_MISSING, CUDA_ERROR, PTXAS_ERROR."""
    key = (text, options, arch)
    with _lock:
        found = _compiled.get(key)
        if found is None:
            found = _compiled[key] = compile_cuda(text, arch, options=options)
        return found


def loaded(context: int, text: str, options: tuple[str, ...], arch: str, name: str, dynamic_shared_bytes: int) -> Any:
    """The kernel in this context, which is the current one."""
    key = (context, text, options, arch, name, dynamic_shared_bytes)
    with _lock:
        found = _functions.get(key)
        if found is None:
            found = _functions[key] = function_of(compiled_for(text, options, arch).cubin, name, dynamic_shared_bytes)[1]
        return found


def forget() -> None:
    """For tests, whose drivers are other ones."""
    with _lock:
        _compiled.clear()
        _functions.clear()
        arch_of_device.cache_clear()
