"""One C function that runs all kernels of a program on several threads, for those who call them from C."""

from __future__ import annotations

import builtins
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from warploom.ctext import Names
from warploom.operations import C_FUNCTIONS
from warploom.schedule import cpu
from warploom.schedule.backbone import Program, Role
from warploom.schedule.cpu import Source
from warploom.schedule.nest import Nest

_LINE_BYTES = 64
_WORDS = "Index Shares warploom_shares threads failed given scalars n kernel second arrays parameters units bytes scratch run"
_LIBRARY = """
abort abs aligned_alloc atexit atof atoi atol bsearch calloc clearenv div exit free getenv getloadavg labs ldiv llabs lldiv malloc
mblen mktemp putenv qsort rand random realloc realpath select setenv setstate srand srandom strtod strtof strtol system unsetenv
acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh drem erf erfc exp exp2 expm1 fabs fdim finite floor fma fmax
fmin fmod frexp gamma hypot ilogb isinf isnan j0 j1 jn ldexp lgamma llrint llround log log10 log1p log2 logb lrint lround modf nan
nearbyint nextafter pow remainder remquo rint round scalb scalbn significand signgam sin sinh sqrt tan tanh tgamma trunc y0 y1 yn
"""
"""Functions of the headers that the text includes; those of floats end with `f` besides."""
_MODULE = "numpy torch np Path THREADS build cache _run _function _check"
_PYTHON = frozenset({*_MODULE.split(), *dir(builtins), *sys.stdlib_module_names})
"""Names that the Python files of `package.py` use, and modules that one of their name in their folder would hide."""
_SHARES = """\
typedef void (*Shares)(void *const *, const double *, Index, Index, char *);

/* The units of a kernel on so many threads: with -fopenmp at the same time, else one share after the other. */
static int warploom_shares(
    Shares run, void *const *arrays, const double *parameters, Index units, size_t bytes, int threads
) {
    int failed = 0;
    if ((Index)threads > units) threads = (int)units;
    if (threads < 1) threads = 1;
    if (units < 1) return 0;
#ifdef _OPENMP
#pragma omp parallel for num_threads(threads) schedule(static, 1) reduction(| : failed) if (threads > 1)
#endif
    for (int n = 0; n < threads; ++n) {
        char *const scratch = bytes ? aligned_alloc(64, bytes) : NULL;
        if (bytes && scratch == NULL) failed |= 1;
        else run(arrays, parameters, units * n / threads, units * (n + 1) / threads, scratch);
        free(scratch);
    }
    return failed;
}
"""


@dataclass(frozen=True, slots=True)
class Entry:
    name: str
    declaration: str
    """`int product(const float *A, ..., int threads)`."""
    text: str
    """C text: the function, after what it needs."""


def entry_of(program: Program, nests: Sequence[Nest], sources: Sequence[Source], text: str) -> Entry:
    """The function takes arrays as pointers and scalars by value, in the order of the tensor function's parameters. `text`: that
    of the kernels."""
    library = _LIBRARY.split()
    words = C_FUNCTIONS.union(_WORDS.split(), library, (f"{word}f" for word in library), _functions(text))
    name = Names(words | _PYTHON)(program.name)
    names = Names({*words, name})
    regions = {r.name: r for r in program.arguments}
    scalars = {p.name: p for p in program.parameters}
    takes: list[str] = []
    for own in program.called_with:
        if own in regions:
            const = "const " if regions[own].role is Role.INPUT else ""
            takes.append(f"{const}{cpu.c_type(regions[own].dtype)} *{names(own)}")
        else:
            takes.append(f"{cpu.c_type(scalars[own].dtype)} {names(own)}")
    sizes = list(dict.fromkeys(size.name for nest in nests for size, _ in nest.run_time))
    takes += [f"ptrdiff_t {size}" for size in sizes]
    declaration = f"int {name}({', '.join([*takes, 'int threads'])})"
    made, lines = list[str](), list[str]()
    for region in program.arguments:
        if region.role is Role.TEMPORARY:
            made.append(names(region.name))
            rest = prod(region.shape[1:]) * region.dtype.size_bytes
            known = region.elements * region.dtype.size_bytes
            size = str(known) if region.run_time is None else f"{region.run_time.factor} * {rest}"
            lines.append(_allocated(names(region.name), size, cpu.c_type(region.dtype)))
    calls: list[str] = []
    for number, (nest, source) in enumerate(zip(nests, sources, strict=True), 1):
        given = [f"(void *){names(b.name)}" for b in source.buffers]
        for n, shares in enumerate(source.common_shares, 1):
            own = names(f"common {number} {n}")
            made.append(own)
            lines.append(_allocated(own, shares.text, "char"))
            given.append(own)
        calls.append(f"    void *const given_{number}[] = {{{', '.join(given or ['NULL'])}}};")
        passed = "NULL"
        if nest.parameters or nest.run_time:
            given_sizes = [f"(double){size.name}" for size, _ in nest.run_time]
            values = ", ".join([*(f"(double){names(p.name)}" for p in nest.parameters), *given_sizes])
            calls.append(f"    const double scalars_{number}[] = {{{values}}};")
            passed = f"scalars_{number}"
        bytes_ = -(-source.scratch_bytes // _LINE_BYTES) * _LINE_BYTES
        runs = [(source.entry, source.units_text)]
        runs += [(source.second_entry, source.second_units_text)] if source.second_entry else []
        for run, units in runs:
            call = f"warploom_shares({run}, given_{number}, {passed}, {units}, {bytes_}, threads)"
            calls.append(f"    if (!failed) failed = {call};")
    ready = f"    int failed = {' || '.join(f'{own} == NULL' for own in made) or '0'};"
    freed = [f"    free({own});" for own in made]
    body = "\n".join([*lines, ready, *calls, *freed, "    return failed ? -1 : 0;"])
    return Entry(name, declaration, f"{_SHARES}\n{declaration} {{\n{body}\n}}\n")


def _functions(text: str) -> set[str]:
    return set(re.findall(r"\b(\w+)\(", text))


def _allocated(name: str, size: str, scalar: str) -> str:
    """`size`: bytes, as a number or a formula."""
    lines = str(-(-int(size) // _LINE_BYTES)) if size.isdigit() else f"({size} + {_LINE_BYTES - 1}) / {_LINE_BYTES}"
    return f"    {scalar} *const {name} = aligned_alloc({_LINE_BYTES}, {lines} * {_LINE_BYTES});"
