"""On a GPU: library kernels beside what PyTorch, CuPy and a plain device copy take for the same data.

`python benchmarks/gpu/libraries.py [--json] [--dry-run] [CASE ...]`. Libraries that are not installed are left out and said so.
Times are medians and quartiles of repeated launches by device events; data larger than the caches. `--dry-run` needs no GPU:
our kernels are compiled.
"""

from __future__ import annotations

import json
import sys
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from forms import DRY_ARCH, Form, chosen, completed, shared
from times import Figures, figures, torch_figures

from warploom.core import UserError
from warploom.gpu import device_arch, device_available, time_on_device
from warploom.kernels import find
from warploom.tools.bench.kernels import TIME_SIZES

CASES = ("conv1d-3", "conv1d-9", "conv1d-17", "conv2d-3", "conv2d-5", "conv2d-7", "aos-store-crc-3", "aos-store-crc-4")
REPEATS = 20


def forms_of(name: str, arch: str) -> dict[str, Form]:
    """The kernel that is picked, the papers' shape of it and its shared-memory baseline, by the names of their times."""
    return {"kernel_ms": chosen(name, arch), "paper_ms": completed(name, arch), "baseline_ms": shared(name, arch)}


def ours(name: str, arrays: dict[str, Any], sizes: dict[str, int]) -> dict[str, Figures]:
    """Milliseconds of each."""
    return {
        label: figures(time_on_device(form.kernel, form.source, form.compiled, arrays, sizes, repeats=REPEATS))
        for label, form in forms_of(name, device_arch()).items()
    }


def torch_times(name: str, arrays: dict[str, Any]) -> dict[str, Figures]:
    """PyTorch: direct convolution, or transpose of structures into arrays; and a device copy of the input."""
    torch = import_module("torch")
    device = {key: torch.from_numpy(array).cuda() for key, array in arrays.items()}
    data = device.get("x", device.get("src"))
    copy = torch.empty_like(data)
    found = {"copy_ms": torch_figures(lambda: copy.copy_(data))}
    if name.startswith("conv1d"):
        x, w = device["x"][None, None], device["w"][None, None]
        found["torch_ms"] = torch_figures(lambda: torch.nn.functional.conv1d(x, w))
    elif name.startswith("conv2d"):
        x, f = device["x"][None, None], device["f"][None, None]
        found["torch_ms"] = torch_figures(lambda: torch.nn.functional.conv2d(x, f))
    else:
        words = int(name.split("-")[3])
        tiles = device["src"].reshape(-1, 32, words)
        found["torch_ms"] = torch_figures(lambda: tiles.transpose(1, 2).contiguous())
    return found


def cupy_times(name: str, arrays: dict[str, Any]) -> dict[str, Figures]:
    """CuPy: `cupyx.scipy.ndimage` correlation; nothing for structures."""
    cupy = import_module("cupy")
    ndimage = import_module("cupyx.scipy.ndimage")
    benchmark = import_module("cupyx.profiler").benchmark
    if not name.startswith("conv"):
        return {}
    x, weights = cupy.asarray(arrays["x"]), cupy.asarray(arrays["w" if "w" in arrays else "f"])
    result = benchmark(ndimage.correlate, (x, weights), n_repeat=REPEATS)
    return {"cupy_ms": figures((1e3 * result.gpu_times.reshape(-1)).tolist())}


def main(arguments: list[str]) -> int:
    as_json, is_dry = "--json" in arguments, "--dry-run" in arguments
    if not is_dry and not device_available():
        print("no CUDA device here: nothing to time (--dry-run compiles the kernels without one)", file=sys.stderr)
        return 3
    libraries = {"torch": torch_times, "cupy": cupy_times}
    for library in [name for name in libraries if find_spec(name) is None]:
        print(f"{library} is not installed: left out", file=sys.stderr)
        del libraries[library]
    for name in [argument for argument in arguments if argument not in ("--json", "--dry-run")] or CASES:
        try:
            example = find(name)
        except UserError as error:
            print(error, file=sys.stderr)
            return 2
        if is_dry:
            found = {label: form.compiled.registers for label, form in forms_of(name, DRY_ARCH).items()}
            print(json.dumps({"case": name, "registers": found}) if as_json else f"{name:<20} registers {found}")
            continue
        sizes = {size: TIME_SIZES[size] for size in example.sketch.kernel.sizes}
        arrays = example.arrays(sizes)
        times = ours(name, arrays, sizes)
        for measure in libraries.values():
            times |= measure(name, arrays)
        print(json.dumps({"case": name, "sizes": sizes} | times) if as_json else f"{name:<20} {times}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
