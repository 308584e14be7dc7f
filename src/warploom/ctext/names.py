"""Identifiers of printed text: legal in C and C++, and nothing else's."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from warploom.core import BY_NAME
from warploom.ctext.types import c_type, cuda_type, make

_C = """
auto break case char const continue default do double else enum extern float for goto if inline int long register restrict return
short signed sizeof static struct switch typedef union unsigned void volatile while
"""
_CPP = """
alignas alignof and and_eq asm bitand bitor bool catch char8_t char16_t char32_t class compl concept consteval constexpr constinit
const_cast co_await co_return co_yield decltype delete dynamic_cast explicit export false final friend import module mutable
namespace new noexcept not not_eq nullptr operator or or_eq override private protected public reinterpret_cast requires
static_assert static_cast template this thread_local throw true try typeid typename typeof using virtual wchar_t xor xor_eq
"""
_CUDA = "threadIdx blockIdx blockDim gridDim warpSize dim3 cudaError_t cudaStream_t cudaSuccess cudaGetLastError half nv_bfloat16"
_HEADERS = """
NULL NAN INFINITY EOF errno assert linux unix i386 stdin stdout stderr environ size_t ptrdiff_t intptr_t uintptr_t main
"""
"""Macros and types of the headers that every printed text may include, and of compilers."""
_OF_CUDA = """
abs acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh cospi cyl_bessel_i0 cyl_bessel_i1 erf erfc erfcinv erfcx
erfinv exp exp10 exp2 expm1 fabs fdim floor fma fmax fmin fmod frexp hypot ilogb j0 j1 jn ldexp lgamma log log10 log1p log2 logb
max min modf nan nearbyint nextafter norm norm3d norm4d normcdf normcdfinv pow rcbrt remainder remquo rhypot rint rnorm rnorm3d
rnorm4d round rsqrt scalbln scalbn sin sincos sincospi sinh sinpi sqrt tan tanh tgamma trunc y0 y1 yn llrint llround lrint
lround
"""
_MORE_OF_CUDA = "clock64 free labs llabs llmax llmin malloc printf ullmax ullmin umax umin"
CUDA_FUNCTIONS = frozenset([*_OF_CUDA.split(), *(f"{name}f" for name in _OF_CUDA.split()), *_MORE_OF_CUDA.split()])
"""Functions that CUDA's compilers declare without a header: no kernel may have such a name, though a variable may."""
_TYPES = [name for t in BY_NAME.values() for name in (cuda_type(t), c_type(t), make(t)) if name]
RESERVED = frozenset([*f"{_C} {_CPP} {_CUDA} {_HEADERS}".split(), *_TYPES])
"""Words that a printer gives neither to what the user names nor to anything of its own."""


class Names:
    """Identifiers, each given once: wishes are kept where legal and free, changed and numbered where not."""

    def __init__(self, words: Iterable[str] = (), *, numbered: Callable[[str, int], str] = "{}_{}".format) -> None:
        """`words`: what else the text around uses. `numbered`: the name to try instead of one that is taken, from 2 on."""
        self._used: set[str] = {*RESERVED, *words}
        self._numbered = numbered
        self._given: dict[str, str] = {}

    def __call__(self, name: str, but: frozenset[str] = frozenset()) -> str:
        """The identifier of this name, the same each time; when it is first asked for, none of `but`."""
        if name not in self._given:
            self._given[name] = self.fresh(name, but)
        return self._given[name]

    def fresh(self, wish: str, but: frozenset[str] = frozenset()) -> str:
        """An identifier not given yet, and none of `but`."""
        base = legal(wish)
        name, number = base, 1
        while name in self._used or name in but:
            number += 1
            name = self._numbered(base, number)
        self._used.add(name)
        return name


def legal(wish: str) -> str:
    """`wish` made an identifier that C and C++ leave to programs: ASCII only, no reserved beginning."""
    base = re.sub(r"\W+", "_", wish, flags=re.ASCII)
    stem = base.lstrip("_")
    if not stem:
        return "v"
    if stem[0].isdigit():
        return f"v_{stem}"
    return stem if base.startswith("__") or (base[0] == "_" and stem[0].isupper()) else base
