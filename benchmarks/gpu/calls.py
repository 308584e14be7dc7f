"""On a GPU: completed kernels and functions of `wl.jit` called with tensors of each package; microseconds for a call.

`python benchmarks/gpu/calls.py [--json] [--dry-run] [CASE ...]`, cases are `numpy`, `torch`, `cupy`, `jax`, `numba`. A case whose
package is missing says so. Each calls a small kernel on a stream of its own, with outputs given and left out, behind work that is
still to be done there; `call_us` is the host's time for one call of a kernel that was called before. `--dry-run` needs no GPU:
the calls run on the interpreter. An exit code of 1 says that something differs.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

import warploom as wl
from warploom import UserError, f32
from warploom.gpu import Compiled, compile_cuda, device_available
from warploom.schedule.cuda import compile_kernel
from warploom.tools.kernels.on_gpu import spread_class, target_of

n = wl.size("n")
CASES = ("numpy", "torch", "cupy", "jax", "numba")
_N = 1 << 16
_CALLS = 200


def tripled(x: Any, y: Any, n: Any) -> None:
    for i in range(n):
        y[i] = x[i] * 3


@wl.sketch(spec=tripled, block=128, grid=wl.ceil_div(n, 128), complete_at={"n": 256})
def kernel(x: wl.Global[f32, n], y: wl.Global[f32, n]):
    at = wl.global_id()
    if at < n:
        y[at] = x[at] * 3


@wl.jit(threads=1)
def thrice(x: f32["n"], y: wl.out[f32["n"]]):  # noqa: UP037 (the language's)
    y[i] = x[i] * 3  # noqa: F821 (an index is a name of the language)


def compiled_calls(arch: str) -> list[Compiled]:
    """Machine code of all kernels that the calls launch. UserError: those of `compile_cuda`."""
    plain = spread_class(thrice.tensor, {"n": _N}, target_of(arch)).launches({"n": _N}).kernels
    return [compile_cuda(wl.complete(kernel).cuda, arch), *(compile_kernel(one, arch) for one in plain)]


class Package:
    """How a package makes tensors, and what its streams are."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.module = None if name == "numpy" else importlib.import_module(name)

    def tensor(self, values: NDArray[Any]) -> Any:
        match self.name:
            case "torch":
                return self.module.from_numpy(values.copy()).cuda()  # type: ignore[union-attr]
            case "cupy":
                return self.module.asarray(values)  # type: ignore[union-attr]
            case "jax":
                return self.module.numpy.asarray(values)  # type: ignore[union-attr]
            case "numba":
                return importlib.import_module("numba.cuda").to_device(values)
            case _:
                return values.copy()

    def host(self, tensor: Any) -> NDArray[Any]:
        match self.name:
            case "torch":
                return tensor.cpu().numpy()
            case "cupy":
                return tensor.get()
            case "numba":
                return tensor.copy_to_host()
            case _:
                return np.asarray(tensor)

    def on_a_stream(self) -> AbstractContextManager[Any]:
        match self.name:
            case "torch":
                return self.module.cuda.stream(self.module.cuda.Stream())  # type: ignore[union-attr]
            case "cupy":
                return self.module.cuda.Stream(non_blocking=True)  # type: ignore[union-attr]
            case _:
                return nullcontext()

    def delayed(self, tensor: Any) -> Any:
        """The tensor plus one, by much work of the package before it."""
        if self.name not in ("torch", "cupy"):
            return tensor + 1 if self.name == "jax" else tensor
        wide = self.module.ones((2048, 2048), **({"device": "cuda"} if self.name == "torch" else {}))  # type: ignore[union-attr]
        for _ in range(8):
            wide = wide @ wide * 1e-4
        return tensor + 1 + (wide[0, 0] * 0)


def compared(case: str, *, dry: bool) -> dict[str, Any]:
    line: dict[str, Any] = {"case": case}
    if dry:
        package: Package | None = Package("numpy")
    else:
        try:
            package = Package(case)
        except ImportError as error:
            return line | {"same": None, "reason": f"not installed: {error}"}
    assert package is not None
    size = 300 if dry else _N
    values = np.arange(size, dtype=np.float32)
    completed = wl.complete(kernel)
    more: dict[str, Any] = {"device": 0} if case == "numpy" and not dry else {}
    same = True
    with package.on_a_stream():
        x = package.delayed(package.tensor(values))
        expected = package.host(x) * 3
        x = package.delayed(package.tensor(values))
        same &= bool(np.array_equal(package.host(completed(x, **more)), expected))
        x = package.delayed(package.tensor(values))
        same &= bool(np.array_equal(package.host(thrice(x, **more)), expected))
        if package.name != "jax":
            y = package.tensor(values * 0)
            x = package.delayed(package.tensor(values))
            for call in (completed, thrice):
                call(x, y, **more)
                same &= bool(np.array_equal(package.host(y), expected))
        if not dry:
            line["call_us"] = timed(lambda: completed(x, **more))
            line["jit_call_us"] = timed(lambda: thrice(x, **more))
    return line | {"same": same, "elements": size}


def timed(call: Callable[[], Any]) -> float:
    times: list[float] = []
    for _ in range(_CALLS):
        begun = time.perf_counter()
        call()
        times.append(time.perf_counter() - begun)
    return round(median(times) * 1e6, 2)


def main(arguments: Sequence[str]) -> int:
    as_json, dry = "--json" in arguments, "--dry-run" in arguments
    cases = [argument for argument in arguments if not argument.startswith("--")] or list(CASES)
    if unknown := [c for c in cases if c not in CASES]:
        print(f"expected one of {', '.join(CASES)}, got {unknown[0]!r}", file=sys.stderr)
        return 2
    if not dry and not device_available():
        print("no CUDA device here: nothing to call (--dry-run runs the interpreter)", file=sys.stderr)
        return 3
    wrong = False
    for case in cases:
        try:
            line = compared(case, dry=dry)
        except UserError as error:
            line = {"case": case, "same": False, "reason": str(error).splitlines()[0]}
        wrong = wrong or line["same"] is False
        print(json.dumps(line) if as_json else line, flush=True)
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
