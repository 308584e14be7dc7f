"""PTX that compilers really emit, made when asked for; a text whose compiler is not installed skips the test that wants it.

Names: `nvrtc/SOURCE/CAPABILITY[/OPTION]`, `kernelgen/KERNEL/SHAPE[/double]`, `warploom/KERNEL`, `cub/SOURCE/CAPABILITY`,
`triton/KERNEL/CAPABILITY`, `numba/KERNEL/CAPABILITY[/debug]`, `llvm/KERNEL/CAPABILITY`. Names from one compiler can be had with
`names("cub")`.
"""

from __future__ import annotations

import importlib.util
import warnings
from functools import cache
from pathlib import Path
from typing import cast

import pytest
from tests.kernels.solved import completions
from tests.ptx.corpus.cub_sources import SOURCES as CUB
from tests.ptx.corpus.cuda_sources import OPTIONS, SOURCES

from warploom.gpu import compile_to_ptx, cuda_source, toolchain_available
from warploom.kernels import find, kernelgen
from warploom.kernels.kernelgen import APPLICATIONS, CONVOLUTIONS, KERNELGEN

CAPABILITIES = (75, 80, 90, 100, 120)
TRITON = (
    "vector_add", "softmax", "matmul", "stencil_1d", "stencil_2d", "scan", "histogram", "sort_rows", "halve_precision",
)  # fmt: skip
NUMBA = ("vector_add", "stencil", "block_sum", "warp_sum", "divide")
LLVM = {"axpy": (75, 90), "switch": (75, 90, 100), "vectors": (75, 90)}
WARPLOOM = (
    "conv1d-9", "stencil1d-3", "conv2d-3", "mult32-reg", "mult64-reg", "mult64-shared", "ffm-64", "aos-sum-crc-4",
    "aos-store-crc-6", "aos-store-rcr-8",
)  # fmt: skip
SHAPES: tuple[kernelgen.Shape, ...] = ("guarded", "plain", "tiled", "grid-stride")
STENCILS = {**KERNELGEN, **APPLICATIONS, **CONVOLUTIONS}


def names(compiler: str = "") -> list[str]:
    """All names, or those of one compiler."""
    found = [f"nvrtc/{name}/{c}" for name, (_, oldest) in SOURCES.items() for c in CAPABILITIES if c >= oldest]
    found += [f"nvrtc/{name}/{oldest}/{option}" for name, (_, oldest) in SOURCES.items() for option in OPTIONS if option]
    found += [f"kernelgen/{name}/{shape}" for name in STENCILS for shape in SHAPES]
    found += [f"kernelgen/{name}/guarded/double" for name in ("jacobi", "lapgsrb", "whispering", "euler_x")]
    found += [f"warploom/{name}" for name in WARPLOOM]
    found += [f"cub/{name}/{c}" for name in CUB for c in (75, 90)]
    found += [f"triton/{name}/{c}" for name in TRITON for c in CAPABILITIES if c >= 80]
    found += [f"numba/{name}/{c}" for name in NUMBA for c in ("75", "90", "120", "90/debug")]
    found += [f"llvm/{name}/{c}" for name, capabilities in LLVM.items() for c in capabilities]
    return [name for name in found if name.startswith(f"{compiler}/" if compiler else "")]


def quick(compiler: str = "") -> list[str]:
    """The names without those that hardly differ from another one."""
    slow = {f"triton/{name}/{c}" for name in TRITON for c in (80, 100, 120)} - {"triton/matmul/100"}
    slow |= {f"cub/{name}/{c}" for name in CUB for c in (75, 90) if (name, c) not in {("scan", 90), ("radix_sort", 90)}}
    slow |= {f"nvrtc/{name}/{c}" for name, (_, oldest) in SOURCES.items() for c in (80, 100) if c > oldest}
    slow |= {f"nvrtc/{name}/{oldest}/{option}" for name, (_, oldest) in SOURCES.items() for option in ("fast", "relocatable")}
    slow |= {f"kernelgen/{name}/{shape}" for name in STENCILS for shape in ("plain", "tiled")}
    return [name for name in names(compiler) if name not in slow]


@cache
def text(name: str) -> str:
    """The PTX; skips the running test where a package is missing. KeyError for a name that is not one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _compile(name)


def _compile(name: str) -> str:
    match name.split("/"):
        case ["nvrtc", source, capability, *option]:
            _need_nvrtc()
            return compile_to_ptx(SOURCES[source][0], f"sm_{capability}", options=OPTIONS[option[0]] if option else ())
        case ["kernelgen", kernel, shape, *real]:
            _need_nvrtc()
            source = kernelgen.cuda_source(STENCILS[kernel], cast(kernelgen.Shape, shape), real="double" if real else "float")
            return compile_to_ptx(source, "sm_75")
        case ["warploom", kernel]:
            _need_nvrtc()
            sketch = find(kernel).sketch.kernel
            units = next((hole.n for hole in sketch.holes if hole.name == "column"), 1)
            return compile_to_ptx(cuda_source(sketch, completions(kernel, units)).text, "sm_90")
        case ["cub", source, capability]:
            _need_nvrtc()
            return compile_to_ptx(CUB[source], f"sm_{capability}", options=_cub_options())
        case ["triton", kernel, capability]:
            _need("triton")
            from tests.ptx.corpus import triton_kernels

            return triton_kernels.ptx_of(kernel, int(capability))
        case ["numba", kernel, capability, *debug]:
            _need("numba.cuda", "numba-cuda")
            from tests.ptx.corpus import numba_kernels

            return numba_kernels.ptx_of(kernel, divmod(int(capability), 10), debug=bool(debug))
        case ["llvm", kernel, capability]:
            _need("llvmlite")
            from tests.ptx.corpus import llvm_kernels

            return llvm_kernels.ptx_of(kernel, int(capability))
        case _:
            raise KeyError(name)


def _need_nvrtc() -> None:
    if not toolchain_available():
        pytest.skip("needs the packages of the extra `cuda`")


def _need(module: str, package: str = "") -> None:
    try:
        found = importlib.util.find_spec(module)
    except ModuleNotFoundError:
        found = None
    if found is None:
        pytest.skip(f"needs the package {package or module}")


def _cub_options() -> tuple[str, ...]:
    spec = importlib.util.find_spec("nvidia")
    for root in (spec.submodule_search_locations or []) if spec is not None else []:
        for folder in Path(root).glob("cu*/include/cccl"):
            return (f"-I{folder}", f"-I{folder.parent}")
    pytest.skip("needs the package nvidia-cuda-cccl")
