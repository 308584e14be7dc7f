"""Finds an example by its name: `conv1d-9`, `aos-store-crc-6-direct`, `ffm-128`, ...

A sketch has the shape of the papers where these print one: their tables are made of it. Other shapes of the same are parameters
of its family (`tunables`), and the one picked there is what `explore` and `synth --best` give.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache

from warploom.core import BY_NAME, Diagnostic, DType, UserError, i32
from warploom.kernels import field, image, lags, line, polynomial, reference, structs, wide_polynomial
from warploom.kernels.binary_field import pentanomial
from warploom.kernels.example import Example

LINE_SIZES = ({"n": 128}, {"n": 1}, {"n": 300}, {"n": 1031})
IMAGE_SIZES = ({"h": 8, "w": 16}, {"h": 1, "w": 1}, {"h": 19, "w": 37})
PAIR_SIZES = ({"pairs": 1}, {"pairs": 3})
TILE_SIZES = ({"tiles": 1}, {"tiles": 3})
ROW_SIZES = ({"rows": 1}, {"rows": 3})
LINE_OUTPUTS = 4
"""Outputs per lane: the halo of a warp then costs no more sectors than that of 128 threads with a shared tile."""
RUN_INPUTS = 5
"""Most inputs of an output at which the outputs of a lane are neighbours; past that they lie 32 apart, in blocks of one warp."""

IMAGE_NOTES = (
    "A warp of 8 x 4 lanes, several outputs per lane (paper section 7.1), beside one output per thread in blocks of 16 x 8. From "
    "K = 3 and images of 128 x 128 on, fewer sectors than the baseline if w is a multiple of 8, up to 12 % more if not: a row of "
    "8 then seldom is one sector. A warp_shape of (2, 16) costs fewer at any w."
)

FFM_NOTES = (
    "The holes are those of mult64-reg: completed there, filled in here. The filled kernel is proved over the xor/and ring on "
    "one pair, then for every number of pairs; both take about 1 CPU-second at D = 32, 5 at 128, 25 at 256 and 70 at 384. "
    "6 accumulates are the tile's optimum; that no other completion is better inside the kernel is not shown."
)

WIDE_NOTES = "The mult64 sketch with more registers per input and lane: every product may go to every accumulator."


@dataclass(frozen=True, slots=True)
class Family:
    """All examples of one name pattern."""

    pattern: str
    """Matches the whole name; its groups are the factory's arguments."""
    form: str
    """The pattern for people."""
    numbers: range
    """Values that the first group may have; an empty range if there is none."""
    build: Callable[..., Example]


def stencil1d(name: str, k_size: int) -> Example:
    sketch = line.stencil1d_runs(k_size, LINE_OUTPUTS) if k_size <= RUN_INPUTS else line.stencil1d(k_size, LINE_OUTPUTS, warps=1)
    return Example(
        name=name,
        sketch=sketch,
        baseline=line.stencil1d_shared(k_size),
        reference=reference.stencil1d(k_size),
        sizes=LINE_SIZES,
        notes="Moving average; registers and shuffles (paper sections 2, 7.1).",
    )


def conv1d(name: str, k_size: int) -> Example:
    sketch = line.conv1d_runs(k_size, LINE_OUTPUTS) if k_size <= RUN_INPUTS else line.conv1d(k_size, LINE_OUTPUTS, warps=1)
    return Example(
        name=name,
        sketch=sketch,
        baseline=line.conv1d_shared(k_size),
        reference=reference.conv1d,
        sizes=LINE_SIZES,
        notes="The paper's Listing 3 with several outputs per lane (section 7.1); `conv1d(K)` has one, as printed there.",
    )


def stencil2d(name: str, k_size: int) -> Example:
    return Example(
        name=name,
        sketch=image.stencil2d(k_size),
        baseline=image.stencil2d_shared(k_size),
        reference=reference.stencil2d(k_size),
        sizes=IMAGE_SIZES,
        notes=IMAGE_NOTES,
    )


def conv2d(name: str, k_size: int) -> Example:
    return Example(
        name=name,
        sketch=image.conv2d(k_size),
        baseline=image.conv2d_shared(k_size),
        reference=reference.conv2d,
        sizes=IMAGE_SIZES,
        notes=IMAGE_NOTES,
    )


def mult(name: str, coefficients: int, memory: str) -> Example:
    sketches = {
        (32, "reg"): polynomial.mult32_reg,
        (32, "shared"): polynomial.mult32_shared,
        (64, "reg"): polynomial.mult64_reg,
        (64, "shared"): polynomial.mult64_shared,
    }
    return Example(
        name=name,
        sketch=sketches[coefficients, memory](),
        baseline=(polynomial.mult32_baseline if coefficients == 32 else polynomial.mult64_baseline)(),
        reference=reference.polynomial_product(coefficients),
        sizes=PAIR_SIZES,
        notes="Bit-sliced polynomial product over GF(2) (paper section 7.2); 64 coefficients: 6 accumulates suffice.",
    )


def wide_mult(name: str, coefficients: int, memory: str) -> Example:
    rows = coefficients // 32
    return Example(
        name=name,
        sketch=(wide_polynomial.mult_reg if memory == "reg" else wide_polynomial.mult_shared)(rows),
        baseline=wide_polynomial.mult_baseline(rows),
        reference=reference.polynomial_product(coefficients),
        sizes=PAIR_SIZES,
        notes=f"{WIDE_NOTES} {rows * (rows + 1)} accumulates suffice for {coefficients} coefficients.",
    )


def narrow_mult64(name: str, lanes: int) -> Example:
    return Example(
        name=name,
        sketch=wide_polynomial.mult_shared(2, lanes),
        baseline=wide_polynomial.mult_baseline(2, lanes),
        reference=reference.polynomial_product(2 * lanes),
        sizes=PAIR_SIZES,
        notes=f"The mult64 sketch in a warp of {lanes}: {2 * lanes} coefficients. The authors' tools solved it for 4 lanes.",
    )


def wall_conv1d(name: str, k_size: int) -> Example:
    return replace(conv1d(name, k_size), sketch=line.conv1d(k_size, warps=1), notes="One output per lane, as in Listing 3.")


def wall_stencil2d(name: str, k_size: int) -> Example:
    return replace(stencil2d(name, k_size), sketch=image.stencil2d(k_size, (1, 1)), notes="One output per lane.")


def ffm(name: str, degree: int) -> Example:
    modulus = 1 << degree | 1 | sum(1 << e for e in pentanomial(degree))
    return Example(
        name=name,
        sketch=field.ffm_reg(degree),
        baseline=field.ffm_shared(degree),
        reference=reference.field_product(degree, modulus),
        sizes=({"pairs": 1}, {"pairs": 2}),
        notes=FFM_NOTES,
        tile=polynomial.mult64_reg(),
    )


def autocorrelation(name: str, count: int) -> Example:
    return Example(
        name=name,
        sketch=lags.autocorrelation(count, buffers=4, tile=64),
        baseline=lags.autocorrelation_shared(count, tile=64),
        reference=reference.autocorrelation(count),
        sizes=ROW_SIZES,
        notes="Tiles of a row are copied asynchronously to buffers that are filled ahead; the baseline waits for each tile.",
    )


def aos_sum(name: str, words: int, layout: str | None) -> Example:
    units, dtype = moved_units(words, layout)
    return Example(
        name=name,
        sketch=structs.sum_crc(units, dtype),
        baseline=structs.sum_shared(units, dtype),
        reference=reference.struct_sums(units),
        sizes=TILE_SIZES,
        notes=f"Sums structures of {words} words moved as {units} of {dtype}; column and row shuffle (paper section 7.3).",
    )


def aos_store(name: str, order: str, words: int, layout: str | None) -> Example:
    units, dtype = moved_units(words, layout)
    return Example(
        name=name,
        sketch=(structs.store_crc if order == "crc" else structs.store_rcr)(units, dtype),
        baseline=structs.store_shared(units, dtype),
        reference=reference.structs_to_arrays(units),
        sizes=TILE_SIZES,
        notes=f"Transposes structures of {words} words moved as {units} of {dtype} (paper section 7.3).",
    )


def moved_units(words: int, layout: str | None) -> tuple[int, DType]:
    """(units of a structure, their type): 6 words move as int2 unless `-direct`; with `-units`, the widest vector."""
    width = 1
    if layout == "-units" or (words == 6 and layout is None):
        width = 4 if words % 4 == 0 else 2 if words % 2 == 0 else 1
    return words // width, i32 if width == 1 else BY_NAME[f"int{width}"]


FAMILIES: tuple[Family, ...] = (
    Family(r"stencil1d-(\d+)", "stencil1d-K", range(2, 65), stencil1d),
    Family(r"conv1d-(\d+)", "conv1d-K", range(2, 65), conv1d),
    Family(r"stencil2d-(\d+)", "stencil2d-K", range(2, 18), stencil2d),
    Family(r"conv2d-(\d+)", "conv2d-K", range(2, 18), conv2d),
    Family(r"lags-(\d+)", "lags-K", range(32, 129, 32), autocorrelation),
    Family(r"mult(32|64)-(reg|shared)", "mult32|64-reg|shared", range(32, 65), mult),
    Family(r"wall/mult(128|256)-(reg|shared)", "wall/mult128|256-reg|shared", range(128, 257), wide_mult),
    Family(r"wall/mult64-shared-w(4|16|32)", "wall/mult64-shared-w4|w16|w32", range(4, 33), narrow_mult64),
    Family(r"wall/conv1d-(\d+)(?:-sketch)?", "wall/conv1d-K", range(2, 65), wall_conv1d),
    Family(r"wall/stencil2d-(\d+)(?:-sketch)?", "wall/stencil2d-K", range(2, 18), wall_stencil2d),
    Family(r"ffm-(\d+)", "ffm-D", range(32, 1025, 32), ffm),
    Family(r"aos-sum-crc-(\d+)(-direct|-units)?", "aos-sum-crc-S[-direct|-units]", range(1, 33), aos_sum),
    Family(r"aos-store-(crc|rcr)-(\d+)(-direct|-units)?", "aos-store-crc|rcr-S[-direct|-units]", range(1, 33), aos_store),
)

NAMES: tuple[str, ...] = (
    *("stencil1d-3", "conv1d-3", "conv1d-9", "conv1d-17"),
    *(f"{what}-{k}" for what in ("stencil2d", "conv2d") for k in (3, 5, 7)),
    *(f"mult{n}-{memory}" for n in (32, 64) for memory in ("reg", "shared")),
    *(f"aos-{what}-{s}" for what in ("sum-crc", "store-crc", "store-rcr") for s in range(1, 9)),
    *(f"aos-{what}-{s}" for what in ("sum-crc", "store-crc", "store-rcr") for s in ("4-units", "8-units")),
    *(f"ffm-{degree}" for degree in range(32, 385, 32)),
)
"""The examples that `examples()` builds; `find` builds others of the same patterns."""

MORE_NAMES: tuple[str, ...] = ("lags-64", *(f"aos-store-crc-{s}{'' if s % 2 else '-units'}" for s in range(9, 17)))
"""Copies that are filled ahead, and structures up to 16 words: what `bench kernels` counts beside `NAMES`."""

WALL_NAMES: tuple[str, ...] = (
    *(f"wall/mult64-shared-w{lanes}" for lanes in (4, 32)),
    *(f"wall/mult{n}-{memory}" for n in (128, 256) for memory in ("reg", "shared")),
    *(f"wall/conv1d-{k}-sketch" for k in (15, 17, 33)),
    *(f"wall/stencil2d-{k}-sketch" for k in (11, 13, 15)),
)
"""Sketches past the sizes where the papers' tools stopped: for completing rather than for running.

`-sketch` tells them from the dataflow programs of the same names.
"""


@cache
def find(name: str) -> Example:
    """The example called `name`; UserError `UNKNOWN_EXAMPLE` with near matches if no pattern or range holds it."""
    for family in FAMILIES:
        match = re.fullmatch(family.pattern, name)
        if match is None:
            continue
        arguments = [int(g) if g and g.isdigit() else g for g in match.groups()]
        number = next(a for a in arguments if isinstance(a, int))
        if number not in family.numbers or (name.endswith("-units") and number % 2):
            break
        return family.build(name, *arguments)
    near = get_close_matches(name, (*NAMES, *WALL_NAMES), n=3, cutoff=0.5)
    forms = ", ".join(f"{f.form} ({f.numbers.start} to {f.numbers[-1]})" for f in FAMILIES)
    fix = f"Did you mean {' or '.join(near)}? " if near else ""
    fix += "All names: `warploom list`; a sketch of your own: `FILE.py` or `FILE.py:NAME`."
    message = f"expected the name of a case of the library, or a file with sketches, got {name!r}"
    raise UserError(Diagnostic("UNKNOWN_EXAMPLE", message, fix=f"{fix} The forms of names are {forms}."))


def is_example(name: str) -> bool:
    """Whether `find` finds it."""
    return any(re.fullmatch(family.pattern, name) for family in FAMILIES)


@cache
def examples() -> dict[str, Example]:
    """Every example of `NAMES` by name. Callers must not change the dictionary."""
    return {name: find(name) for name in NAMES}
