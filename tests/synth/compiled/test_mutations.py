"""Random changes to compiled kernels: what is proved computes the right numbers in the interpreter, what is refuted does not."""

import random
import re

import numpy as np
import pytest
from tests.kernels.solved import completions

from warploom.core import UserError
from warploom.gpu import compile_to_ptx, cuda_source, grid_of, toolchain_available
from warploom.kernels import Example, find
from warploom.ptx import launch, lower, parse
from warploom.synth.compiled import prove_compiled

REPLACED = (
    ("add.f32", "sub.f32"), ("add.s32", "sub.s32"), ("setp.lt", "setp.le"), ("setp.ge", "setp.gt"), ("and.b32", "xor.b32"),
    ("xor.b32", "or.b32"), (".idx", ".up"), ("bra.uni", "bra"),
)  # fmt: skip


def changed(lines: list[str], rng: random.Random) -> list[str]:
    """One instruction deleted, or with an operand, number, guard or opcode that is another."""
    first = next(k for k, line in enumerate(lines) if "ld.param" in line)
    places = [
        k for k, line in enumerate(lines) if k >= first and line.startswith("\t") and line.endswith(";") and "ret" not in line
    ]
    k = rng.choice(places)
    line = lines[k]
    match rng.choice(["delete", "swap", "number", "register", "guard", "opcode"]):
        case "delete":
            new = ""
        case "swap":
            operands = line.rstrip(";").split(", ")
            i = rng.randrange(1, len(operands)) if len(operands) > 2 else 0
            operands[i], operands[-1] = operands[-1], operands[i]
            new = ", ".join(operands) + ";" if i else line
        case "number":
            new = re.sub(r"(?<![\w%.])(\d+)(;|,|\])", lambda m: f"{int(m[1]) + rng.choice([1, 4, 32])}{m[2]}", line, count=1)
        case "register":
            kind = re.findall(r"%(?:rd|r|f|p)(?=\d)", line)
            others = re.findall(rf"{kind[-1]}\d+", "\n".join(lines[first:])) if kind else [""]
            new = re.sub(rf"{kind[-1]}\d+(?=;|,|\])", rng.choice(others), line, count=1) if kind else line
        case "guard":
            new = line.replace("@!%", "@%") if "@!" in line else line.replace("@%", "@!%")
        case _:
            new = next((line.replace(old, other) for old, other in REPLACED if old in line), line)
    return [*lines[:k], new, *lines[k + 1 :]]


MANY = ("stencil1d-3", "conv1d-9", "aos-store-rcr-6", "aos-sum-crc-8-units", "mult32-shared", "mult64-reg", "ffm-32")


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("stencil1d-3", 20),
        ("aos-store-crc-3", 20),
        ("mult32-shared", 5),
        *(pytest.param(name, 200, marks=pytest.mark.slow) for name in MANY),
    ],
)
def test_verdicts_agree_with_the_interpreter(name: str, changes: int) -> None:
    if not toolchain_available():
        pytest.skip("the extra `cuda` (NVRTC) is not installed")
    example = find(name)
    holes = completions(name, next((hole.n for hole in example.sketch.kernel.holes if hole.name == "column"), 1))
    lines = compile_to_ptx(cuda_source(example.sketch.kernel, holes).text).splitlines()
    sizes = {size: 2 if size != "n" else 150 for size in example.sketch.kernel.sizes}
    rng = random.Random(name)
    verdicts: set[str] = set()
    for k in range(changes):
        text = "\n".join(changed(lines, rng))
        try:
            proof = prove_compiled(example.sketch, holes, ptx=text, instances=(sizes,))
        except UserError:
            continue
        verdicts.add(proof.verdict)
        right, is_clean = interpreted(example, text, sizes, k)
        if proof.verdict == "proved":
            assert right, f"change {k} of {name} is proved, and the interpreter computes something else"
        if proof.verdict == "refuted":
            assert not (right and is_clean), (
                f"change {k} of {name} is refuted ({proof.reason}), and the interpreter sees no fault"
            )
    assert verdicts >= {"proved", "refuted"}


def interpreted(example: Example, text: str, sizes: dict[str, int], seed: int) -> tuple[bool, bool]:
    """Whether the outputs are right on random data, and whether nothing was found wrong on the way."""
    kernel = example.sketch.kernel
    arrays = example.arrays(sizes, seed)
    wanted = example.reference(**arrays)
    for param in kernel.params:
        if param.is_output:
            arrays[param.name][...] = 77
    arguments = [*(arrays[p.name] for p in kernel.params), *(np.int32(sizes[s]) for s in kernel.sizes)]
    ran = launch(lower(parse(text)), grid=grid_of(kernel, sizes), block=kernel.block, args=arguments, limit=2_000_000)
    right = all(_same(ran.arrays[k], wanted[p.name]) for k, p in enumerate(kernel.params) if p.is_output)
    return right, ran.status == "finished" and not ran.findings


def _same(found: np.ndarray, wanted: np.ndarray) -> bool:
    if wanted.dtype.kind == "f":
        return np.allclose(found, wanted, rtol=1e-3, atol=1e-3)
    return np.array_equal(found, wanted)
