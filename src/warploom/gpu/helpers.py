"""Small device functions that a printed kernel may need: floor and wrapping arithmetic, vectors, wide and narrow shuffles.

Each is plain C inside, so that the read-back can run it like the kernel itself.
"""

from __future__ import annotations

from collections.abc import Callable

from warploom.core import BY_NAME, DType, f32, scalar_of
from warploom.ctext import (
    FloatType,
    Names,
    Text,
    binary,
    cast_to,
    chain,
    cuda_type,
    decimal,
    division_steps,
    literal,
    make,
    member,
)

_FLOOR = {
    "floor_div": "  const int q = a / b;\n  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;",
    "floor_mod": "  const int r = a % b;\n  return r != 0 && (r < 0) != (b < 0) ? r + b : r;",
}
_WORDS = {
    "+": "add",
    "-": "sub",
    "*": "mul",
    "<<": "shl",
    "/": "div",
    "//": "floor_div",
    "%": "floor_mod",
    "&": "and",
    "|": "or",
    "^": "xor",
    ">>": "shr",
}


_FLOAT = FloatType("float", "__fmul_rn", "__fmaf_rn", "fmaxf", lambda number: literal(f32, number).text)


class Helpers:
    """Collects the functions asked for, in an order in which each comes after those it calls."""

    def __init__(self, names: Names) -> None:
        """`names`: all identifiers of the text, so that no array or variable of the user's hides a function."""
        self._names = names
        self._called: dict[str, str] = {}
        self._texts: list[str] = []

    @property
    def text(self) -> str:
        return "\n\n".join(self._texts)

    def _define(self, name: str, result: str, params: str, body: str, *, host: bool = False) -> str:
        if name not in self._called:
            where, given = "__host__ __device__" if host else "__device__", self._names.fresh(name)
            self._called[name] = given
            self._texts.append(f"static {where} __forceinline__ {result} {given}({params}) {{\n{body}\n}}")
        return self._called[name]

    def floor(self, name: str) -> str:
        """`floor_div` or `floor_mod`: Python's // and % on int."""
        return self._define(name, "int", "int a, int b", _FLOOR[name], host=True)

    def floor_data(self, op: str, dtype: DType) -> str:
        """Python's `//` or `%` on int or long long."""
        t = cuda_type(dtype)
        body = _FLOOR[_WORDS[op]].replace("const int", f"const {t}")
        return self._define(f"{_WORDS[op]}_{dtype.name}", t, f"{t} a, {t} b", body)

    def wrapping(self, op: str, dtype: DType) -> str:
        """`op` on int or long long modulo 2^bits (C leaves signed overflow undefined)."""
        t, u = cuda_type(dtype), cuda_type(BY_NAME[f"u{dtype.bits}"])
        right = "b" if op == "<<" else f"({u})b"
        return self._define(f"{_WORDS[op]}_{dtype.name}", t, f"{t} a, {t} b", f"  return ({t})(({u})a {op} {right});")

    def divided(self, divisor: int) -> str:
        """a / `divisor` for every a, where `is_divisor` holds."""
        body = "\n".join(f"  {step}" for step in division_steps(_FLOAT, divisor))
        return self._define(f"divided_by_{divisor}", "float", "float a", body)

    def componentwise(self, name: str, dtype: DType, arity: int, result: DType, scalar: Callable[..., str]) -> str:
        """A function on vectors that applies `scalar` (texts of operands to text) to each component."""
        letters = "abc"[:arity]
        items = ", ".join(scalar(*(f"{v}.{c}" for v in letters)) for c in "xyzw"[: dtype.lanes])
        params = ", ".join(f"{cuda_type(dtype)} {v}" for v in letters)
        name = f"{_WORDS.get(name, name)}_{dtype.name}"
        return self._define(name, cuda_type(result), params, f"  return {make(result)}({items});")

    def user_operator(self, name: str, dtype: DType, body: str) -> str:
        t = cuda_type(dtype)
        return self.user_function(f"{name}_{dtype.name}", t, f"{t} a, {t} b", body)

    def user_function(self, name: str, result: str, params: str, value: str) -> str:
        return self._define(name, result, params, f"  return {value};")

    def match_all(self, intrinsic: str, dtype: DType) -> str:
        """The word of a match of all lanes, whose intrinsic also wants a place for whether they match."""
        t = cuda_type(dtype)
        body = f"  int is_same;\n  return {intrinsic}(mask, value, &is_same);"
        return self._define(f"match_all_{dtype.name}", "unsigned", f"unsigned mask, {t} value", body)

    def vector_shuffle(self, intrinsic: str, dtype: DType) -> str:
        """The shuffle of a vector: one 32-bit word at a time, narrow components packed into words first."""
        scalar = scalar_of(dtype)
        name = f"{intrinsic.strip('_').removesuffix('_sync')}_{dtype.name}"
        params = f"unsigned mask, {cuda_type(dtype)} v, int lane, int width"
        send = "{0}(mask, {1}, lane, width)"
        components = "xyzw"[: dtype.lanes]
        if scalar.bits >= 32:
            lines = [f"  v.{c} = {send.format(intrinsic, f'v.{c}')};" for c in components]
            return self._define(name, cuda_type(dtype), params, "\n".join([*lines, "  return v;"]))
        per_word, low = 32 // scalar.bits, (1 << scalar.bits) - 1
        lines: list[str] = []
        for word in range(0, dtype.lanes, per_word):
            packed = components[word : word + per_word]
            bits = [binary("&", cast_to("unsigned", member(Text("v"), c)), Text(f"0x{low:x}u")) for c in packed]
            pieces = [binary("<<", b, decimal(p * scalar.bits)) if p else b for p, b in enumerate(bits)]
            lines.append(f"  const unsigned w{word} = {send.format(intrinsic, chain('|', pieces).text)};")
            lines += [
                f"  v.{c} = ({cuda_type(scalar)})(w{word}" + (f" >> {p * scalar.bits}" if p else "") + ");"
                for p, c in enumerate(packed)
            ]
        return self._define(name, cuda_type(dtype), params, "\n".join([*lines, "  return v;"]))
