"""Results in the text of PTXASW (2023): the numbers and signs that a model of profit is compared with.

Only words and tables: the bars of Figure 2, which hold the result of every kernel, are not in the text. Where no statement names
a kernel, nothing is known of it but the `Summary` of its GPU. Percentages are changes of performance against the original code,
positive for faster.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

Generation: TypeAlias = Literal["Kepler", "Maxwell", "Pascal", "Volta"]
Variant: TypeAlias = Literal["PTXASW", "NO LOAD", "NO CORNER"]
"""NO LOAD leaves out the loads that shuffles cover, NO CORNER shuffles without the loads of lanes that have no source; the
results of both are wrong. Source: section 6."""
Sign: TypeAlias = Literal[-1, 0, 1]


@dataclass(frozen=True, slots=True)
class Gpu:
    """A GPU on which the paper ran the kernels."""

    board: str
    arch: str
    """Architecture of the board."""
    compiled_for: str
    """Option of the compiler: `cc(35|50|60|70)` with `loadcache:L1`."""


GPUS: Mapping[Generation, Gpu] = {
    "Kepler": Gpu("Tesla K40c", "sm_35", "sm_35"),
    "Maxwell": Gpu("TITAN X", "sm_52", "sm_50"),
    "Pascal": Gpu("Tesla P100 PCIE", "sm_60", "sm_60"),
    "Volta": Gpu("Tesla V100 SXM2", "sm_70", "sm_70"),
}
"""Source: section 6; `arch` is NVIDIA's number for the board."""


@dataclass(frozen=True, slots=True)
class Latencies:
    """Latencies in cycles."""

    shuffle_up: int
    shared_read: int
    l1_hit: int


LATENCIES: Mapping[Generation, Latencies] = {
    "Kepler": Latencies(24, 26, 35), "Maxwell": Latencies(33, 23, 82), "Pascal": Latencies(33, 24, 82),
    "Volta": Latencies(22, 19, 28),
}  # fmt: skip
"""Source: Table 1. Boards: K80, M60, P100, V100; K40c and TITAN X for the shuffles of Kepler and Maxwell."""


@dataclass(frozen=True, slots=True)
class Synthesis:
    """One line of Table 2."""

    language: Literal["C", "Fortran"]
    shuffles: int
    loads: int
    mean_delta: float | None
    """None without shuffles."""
    analysis_s: float


SYNTHESIS: Mapping[str, Synthesis] = {
    "divergence": Synthesis("C", 1, 6, 2.0, 4.281), "gameoflife": Synthesis("C", 6, 9, 1.5, 3.470),
    "gaussblur": Synthesis("C", 20, 25, 2.5, 7.938), "gradient": Synthesis("C", 1, 6, 2.0, 4.668),
    "jacobi": Synthesis("Fortran", 6, 9, 1.5, 4.119), "lapgsrb": Synthesis("C", 12, 25, 1.83, 14.296),
    "laplacian": Synthesis("C", 2, 7, 1.5, 4.816), "matmul": Synthesis("Fortran", 0, 8, None, 13.971),
    "matvec": Synthesis("C", 0, 7, None, 4.929), "sincos": Synthesis("Fortran", 0, 2, None, 101.424),
    "tricubic": Synthesis("C", 48, 67, 2.0, 99.476), "tricubic2": Synthesis("C", 48, 67, 2.0, 101.855),
    "uxx1": Synthesis("C", 3, 17, 2.0, 7.466), "vecadd": Synthesis("C", 0, 2, None, 3.281),
    "wave13pt": Synthesis("C", 4, 14, 2.5, 6.967), "whispering": Synthesis("C", 6, 19, 0.83, 6.288),
}  # fmt: skip
"""Source: Table 2, PTX of NVHPC 22.3."""


@dataclass(frozen=True, slots=True)
class Summary:
    """All sixteen kernels on one GPU."""

    improved: int
    """Kernels that PTXASW made faster."""
    best_percent: float
    mean_percent: float
    registers: Mapping[Variant, float]
    """Mean change per thread."""
    occupancy: Sign
    """Direction that it typically takes where the kernels gain."""


SUMMARIES: Mapping[Generation, Summary] = {
    "Kepler": Summary(7, 16.9, -3.3, {"NO LOAD": -6.4, "NO CORNER": -5.2, "PTXASW": 2.7}, 1),
    "Maxwell": Summary(6, 132.3, 10.9, {"NO LOAD": -6.6, "NO CORNER": -5.9, "PTXASW": 4.2}, 1),
    "Pascal": Summary(9, 9.1, 1.8, {"NO LOAD": -7.0, "NO CORNER": -5.9, "PTXASW": 3.8}, -1),
    "Volta": Summary(4, 14.7, -15.2, {"NO LOAD": -6.4, "NO CORNER": 6.8, "PTXASW": 9.2}, -1),
}
"""Source: section 7."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The paper's result of one kernel on one GPU."""

    generation: Generation
    kernel: str
    """A name of Table 2, or of section 8.5."""
    variant: Variant = "PTXASW"
    percent: float | None
    """None where the text gives the direction only."""
    sign: Sign
    section: str
    quote: str


def _outcome(
    generation: Generation, kernel: str, percent: float, section: str, quote: str, variant: Variant = "PTXASW"
) -> Outcome:
    sign: Sign = 1 if percent > 0 else -1
    return Outcome(
        generation=generation, kernel=kernel, variant=variant, percent=percent, sign=sign, section=section, quote=quote
    )


_BEST = "up to 16.9%/132.3%/9.1%/14.7%; Maxwell attains the best performance with gaussblur"
_HALF = "although Volta's performance drops by half for the same case"
_TEN = "performance degradation with Volta in the case where more than ten shuffles are generated"
_FURTHER = "Those further reduce the efficiency with PTXASW"
_LIFE = "-0.1%/5.7%/6.2% lower performance"
_CUBIC = "-1.6%/7.7%/15.4% lower performance"
_TEXTURE = "attaining 132.2% and 36.9% higher throughput"
_PASCAL = "the performance increases by 5.9% and 5.4% with PTXASW"

OUTCOMES: tuple[Outcome, ...] = (
    _outcome("Maxwell", "gaussblur", 132.3, "7", _BEST),
    _outcome("Maxwell", "gaussblur", 132.2, "8.2", _TEXTURE),
    _outcome("Maxwell", "lapgsrb", 36.9, "8.2", _TEXTURE),
    _outcome("Maxwell", "gameoflife", 0.1, "8.2", _LIFE, "NO LOAD"),
    _outcome("Maxwell", "gameoflife", -5.7, "8.2", _LIFE, "NO CORNER"),
    _outcome("Maxwell", "gameoflife", -6.2, "8.2", _LIFE),
    _outcome("Maxwell", "tricubic", 1.6, "8.2", _CUBIC, "NO LOAD"),
    _outcome("Maxwell", "tricubic", -7.7, "8.2", _CUBIC, "NO CORNER"),
    _outcome("Maxwell", "tricubic", -15.4, "8.2", _CUBIC),
    _outcome("Maxwell", "tricubic2", 14.3, "8.2", "only 14.3% overall improvement with NO LOAD", "NO LOAD"),
    _outcome("Kepler", "tricubic", 153.0, "8.1", "yielding 2.53x performance", "NO LOAD"),
    _outcome("Pascal", "gameoflife", 5.9, "8.3", _PASCAL),
    _outcome("Pascal", "tricubic", 5.4, "8.3", _PASCAL),
    _outcome("Volta", "gameoflife", 35.0, "8.4", "the speed-up by NO LOAD is limited to up to 1.35x (gameoflife)", "NO LOAD"),
    _outcome("Volta", "gaussblur", -50.0, "7", _HALF),
    *(
        Outcome(generation="Volta", kernel=kernel, percent=None, sign=-1, section="7", quote=_TEN)
        for kernel, line in SYNTHESIS.items()
        if line.shuffles > 10
    ),
    *(
        Outcome(generation="Volta", kernel=kernel, percent=None, sign=-1, section="8.4", quote=_FURTHER)
        for kernel in ("lapgsrb", "tricubic")
    ),
    _outcome("Pascal", "hypterm", 0.48, "8.5", "12 shuffles are generated over 48 loads, producing 0.48% improvement"),
    _outcome("Pascal", "rhs4th3fort", 2.49, "8.5", "2.49% higher throughput ... placing 44 shuffles among 179 loads"),
    _outcome("Pascal", "derivative", 3.79, "8.5", "52 shuffles from 166 loads, PTXASW attains 3.79% speed-up"),
)  # fmt: skip
"""A kernel may have several statements. `drops by half` is taken as -50; the kernels with more than ten shuffles are those of
Table 2. Two sentences on NO CORNER (Kepler's memory-bound kernels, Volta's lapgsrb and tricubic) are left out: they speak of a
degradation, but it may be one against NO LOAD.
"""

UNCHANGED: tuple[str, ...] = ("matmul", "matvec", "sincos", "vecadd")
"""No shuffle found, so the code is the original's. Source: section 6."""

VOLTA_RANGE: tuple[float, float] = (0.315, 1.15)
"""Speed-ups of PTXASW on Volta, worst and best. Source: section 8.4."""


@dataclass(frozen=True, slots=True)
class AppliedShuffles:
    """Shuffles of an application on Pascal, |N| <= 1 only; all that were found have |N| = 1."""

    shuffles: int
    loads: int


APPLICATION_SHUFFLES: Mapping[str, AppliedShuffles] = {
    "hypterm": AppliedShuffles(12, 48), "rhs4th3fort": AppliedShuffles(44, 179), "derivative": AppliedShuffles(52, 166),
}  # fmt: skip
"""Source: section 8.5. For hypterm, the kernel along the leading dimension."""


Profiled: TypeAlias = Variant | Literal["original", "uniform branch"]


@dataclass(frozen=True, slots=True)
class Stall:
    """Part of the sampled stalls that has one reason, in percent."""

    generation: Generation
    kernel: str | None
    """None: mean of all."""
    reason: str
    code: Profiled
    percent: float
    section: str


STALLS: tuple[Stall, ...] = (
    Stall("Kepler", None, "execution dependency", "original", 24.7, "8.1"),
    Stall("Kepler", None, "pipeline busy", "original", 7.5, "8.1"),
    Stall("Maxwell", "gaussblur", "texture", "original", 47.5, "8.2"),
    Stall("Maxwell", "gaussblur", "texture", "PTXASW", 5.3, "8.2"),
    Stall("Maxwell", "lapgsrb", "texture", "original", 23.0, "8.2"),
    Stall("Maxwell", "lapgsrb", "texture", "PTXASW", 0.1, "8.2"),
    Stall("Pascal", "gameoflife", "other", "original", 34.4, "8.3"),
    Stall("Pascal", "gameoflife", "other", "uniform branch", 8.6, "8.3"),
)


@dataclass(frozen=True, slots=True)
class StallChange:
    """In percentage points, from one code to another, where the text gives no more."""

    generation: Generation
    kernel: str | None
    reason: str
    before: Profiled
    after: Profiled
    points: float
    section: str


STALL_CHANGES: tuple[StallChange, ...] = (
    StallChange("Kepler", "tricubic", "memory throttle", "original", "NO LOAD", -56.0, "8.1"),
    StallChange("Kepler", None, "execution dependency", "NO LOAD", "NO CORNER", 4.0, "8.1"),
    StallChange("Kepler", None, "pipeline busy", "NO LOAD", "NO CORNER", -1.6, "8.1"),
    StallChange("Maxwell", "tricubic2", "memory dependency", "original", "NO LOAD", -32.9, "8.2"),
)


@dataclass(frozen=True, slots=True)
class UniformBranch:
    """A variant on Pascal that tests the warp before the shuffle, which makes a uniform branch; rejected in section 5.2."""

    gameoflife: float
    """Performance of gameoflife, original 1."""
    mean_speedup: float


UNIFORM_BRANCH = UniformBranch(1.508, 0.88)
"""Source: section 8.3."""


def signs(variant: Variant = "PTXASW") -> dict[tuple[Generation, str], Sign]:
    """Direction per GPU and kernel, as far as the text names it; 0 for kernels left as they were."""
    known: dict[tuple[Generation, str], Sign] = {(gpu, kernel): 0 for gpu in GPUS for kernel in UNCHANGED}
    known.update({(o.generation, o.kernel): o.sign for o in OUTCOMES if o.variant == variant})
    return known
