"""The small C functions and vector types that a kernel uses, printed above it: only those asked for."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import reduce

from warploom.core import (
    BY_NAME,
    WORDS,
    Diagnostic,
    DType,
    UnsupportedError,
    bf16,
    bf16x2,
    element_of,
    f32,
    i32,
    other_word,
    u8x4,
    u32,
)
from warploom.ctext import PRIMARY, FloatType, Text, binary, c_literal, call, cast_to, division_steps
from warploom.ctext import c_type as type_name
from warploom.schedule.backbone import ROWS, Operator
from warploom.schedule.cpu.close import Close
from warploom.schedule.cpu.columns import MIXED_TEXT, turned_text
from warploom.schedule.cpu.dots import SVE_LANES, dot_text
from warploom.schedule.cpu.functions import OF_VECTORS_F32, PARTS_F32

_INTRINSICS = {("f32", 16): ("__AVX512F__", "_mm512", "ps"), ("f64", 8): ("__AVX512F__", "_mm512", "pd"),
               ("f32", 8): ("__AVX__", "_mm256", "ps"), ("f64", 4): ("__AVX__", "_mm256", "pd"),
               ("f32", 4): ("__SSE2__", "_mm", "ps"), ("f64", 2): ("__SSE2__", "_mm", "pd")}  # fmt: skip
"""(type, lanes) -> (macro that must be defined, prefix, suffix) of x86 intrinsics."""
_EXTREMES = {"MOST": Operator.MAX, "LEAST": Operator.MIN}
_NANS_OF_FIRST = "0x22"
"""Table of `vfixupimm`, four bits for each kind of number: quiet and signalling NaN, which come first, replace the other one."""


def c_type(dtype: DType) -> str:
    name = type_name(dtype)
    if name is None:
        served = ", ".join(t.name for t in BY_NAME.values() if type_name(t))
        raise UnsupportedError(Diagnostic("CPU_TYPE", f"expected one of {served} on the CPU, got {dtype.name}", fix="use f32"))
    return name


@dataclass(slots=True)
class Helpers:
    """Each method gives a name that may be used in the kernel, and remembers its definition."""

    _types: dict[str, str] = field(default_factory=dict[str, str])
    _functions: dict[str, str] = field(default_factory=dict[str, str])
    _has_intrinsics: bool = False
    _has_sve: bool = False
    _mixes: bool = False

    def text(self) -> str:
        includes = ["#include <math.h>", "#include <stddef.h>", "#include <stdint.h>"]
        if self._has_intrinsics:
            includes += ["#if defined(__x86_64__) || defined(__i386__)", "#include <immintrin.h>"]
            includes += ["#elif defined(__ARM_NEON)", "#include <arm_neon.h>", "#endif"]
        includes += ["#ifdef __ARM_FEATURE_SVE", "#include <arm_sve.h>", "#endif"] if self._has_sve else []
        includes += [MIXED_TEXT] if self._mixes else []
        start = [*includes, "", "typedef ptrdiff_t Index;", *self._types.values()]
        return "\n".join(start) + "\n" + "".join("\n" + body for body in self._functions.values())

    def vector(self, dtype: DType, lanes: int) -> str:
        """A vector type; beside it, with `_any`, the same at any address of its elements. Those of a word are not the
        word."""
        name = f"{dtype.name}x{lanes}"
        name = f"{name}_lanes" if any(name == word.name for word in WORDS.values()) else name
        if name not in self._types:
            if dtype in WORDS.values():
                self.word(dtype)
            scalar, size, element = self._stored(dtype), dtype.size_bytes * lanes, element_of(dtype)
            self._types[name] = (
                f"typedef {scalar} {name} __attribute__((vector_size({size})));\n"
                f"typedef {scalar} {name}_any __attribute__((vector_size({size}), aligned({element.size_bytes}), may_alias));"
            )
        return name

    def word(self, dtype: DType) -> None:
        """Defines the type of a word: its elements at any of their addresses."""
        aligned = f"aligned({element_of(dtype).size_bytes})"
        self._types[dtype.name] = f"typedef {self._stored(dtype)} {dtype.name} __attribute__(({aligned}, may_alias));"

    def _stored(self, dtype: DType) -> str:
        """The integer that a word is, or the type itself."""
        return c_type(BY_NAME[f"{dtype.kind[0]}{dtype.bits}"]) if dtype in WORDS.values() else c_type(dtype)

    def converted(self, text: Text, own: DType, dtype: DType, lanes: int) -> Text:
        """Numbers of one type as those of another, scalars (`lanes` 1) or vectors. bf16 is a word for C: by way of f32."""
        if own == bf16 == dtype:
            return text
        if own == bf16:
            wide = call(self._from_bf16(lanes), text)
            return wide if dtype == f32 else self.converted(wide, f32, dtype, lanes)
        if dtype == bf16:
            return call(self._to_bf16(lanes), text if own == f32 else self.converted(text, own, f32, lanes))
        if lanes == 1:
            return cast_to(c_type(dtype), text)
        return call("__builtin_convertvector", text, self.vector(dtype, lanes))

    def _from_bf16(self, lanes: int) -> str:
        """The f32 whose upper half the word is."""
        if lanes == 1:
            start = "const uint32_t bits = (uint32_t)x << 16;\n    float y;"
            body = f"{start}\n    __builtin_memcpy(&y, &bits, sizeof y);\n    return y;"
            return self._add("from_bf16", "float", "uint16_t x", body)
        v, of, bits = (self.vector(t, lanes) for t in (f32, bf16, u32))
        return self._add(f"from_{of}", v, f"{of} x", f"return ({v})(__builtin_convertvector(x, {bits}) << 16);")

    def _to_bf16(self, lanes: int) -> str:
        """The nearest word, of two as near the even one; NaN stays, and becomes quiet."""
        nearest, quiet = "(bits + 0x7fff + (bits >> 16 & 1)) >> 16", "bits >> 16 | 0x40"
        if lanes == 1:
            body = (
                "uint32_t bits;\n    __builtin_memcpy(&bits, &x, sizeof bits);\n"
                f"    return (bits & 0x7fffffff) > 0x7f800000 ? {quiet} : {nearest};"
            )
            return self._add("to_bf16", "uint16_t", "float x", body)
        v, to, bits, sign = (self.vector(t, lanes) for t in (f32, bf16, u32, BY_NAME["i32"]))
        body = (
            f"const {bits} bits = ({bits})x, nan = ({bits})(({sign})(bits & 0x7fffffff) > 0x7f800000);\n"
            f"    return __builtin_convertvector((nan & ({quiet})) | (~nan & ({nearest})), {to});"
        )
        return self._add(f"to_{to}", to, f"{v} x", body)

    def moved(self, dtype: DType, lanes: int) -> str:
        """Bytes of words, each moved by 128 into the range of the other type, of which the result is."""
        other = other_word(dtype)
        to, of, bits = (self.vector(t, lanes) if lanes > 1 else t.name for t in (other, dtype, u8x4))
        return self._add(f"moved_{to}", to, f"{of} x", f"return ({to})(({bits})x ^ 0x80808080u);")

    def dot(self, first: DType, second: DType, lanes: int) -> str:
        """A function of totals and two words, scalars (`lanes` 1) or vectors: the totals and the products of their elements."""
        of = f32 if first == bf16x2 else i32
        total = self.vector(of, lanes) if lanes > 1 else c_type(of)
        a, b = (self.vector(t, lanes) if lanes > 1 else t.name for t in (first, second))
        if lanes > 1:
            self._has_intrinsics = True
            self._has_sve |= lanes in SVE_LANES
        elif of == f32:
            self._from_bf16(1)
        name = f"dot_{first.name}_{second.name}_x{lanes}"
        return self._add(name, total, f"{total} sum, {a} a, {b} b", dot_text(total, first, second, lanes))

    def only_where(self, condition: str, text: str) -> None:
        """Defines functions on intrinsics where the condition of the preprocessor holds."""
        self._has_intrinsics = True
        self._functions[condition] = f"#if {condition}\n{text}#endif\n"

    def load(self, dtype: DType, lanes: int) -> str:
        v = self.vector(dtype, lanes)
        return self._add(f"load_{v}", v, f"const {c_type(dtype)} *from", f"return *(const {v}_any *)from;")

    def store(self, dtype: DType, lanes: int) -> str:
        v = self.vector(dtype, lanes)
        return self._add(f"store_{v}", "void", f"{c_type(dtype)} *to, {v} value", f"*({v}_any *)to = value;")

    def stream(self, dtype: DType, lanes: int) -> str:
        """A store around the caches where the address is aligned."""
        v = self.vector(dtype, lanes)
        body = f"*({v}_any *)to = value;"
        if (intrinsics := _INTRINSICS.get((dtype.name, lanes))) is not None:
            self._has_intrinsics = True
            macro, prefix, suffix = intrinsics
            aligned = (
                f"if (((uintptr_t)to & {dtype.size_bytes * lanes - 1}) == 0) {{ {prefix}_stream_{suffix}(to, value); return; }}"
            )
            body = f"#ifdef {macro}\n    {aligned}\n#endif\n    {body}"
        return self._add(f"stream_{v}", "void", f"{c_type(dtype)} *to, {v} value", body)

    def spread(self, dtype: DType, lanes: int) -> str:
        """Words, one or a vector of neighbours, of elements that are `stride` apart."""
        element = element_of(dtype)
        unsigned = BY_NAME[f"u{element.bits}"]
        if lanes == 1:
            to, bits, of = dtype.name, "uint32_t", f"(uint32_t)({c_type(unsigned)})from[{{}}]"
        else:
            to, bits = self.vector(dtype, lanes), self.vector(u32, lanes)
            of = f"__builtin_convertvector({self.load(unsigned, lanes)}((const {c_type(unsigned)} *)from + {{}}), {bits})"
        together = range(dtype.bits // element.bits)
        parts = " | ".join(f"{of.format(f'{n} * stride' if n else '0')} << {element.bits * n}" for n in together)
        return self._add(f"spread_{to}", to, f"const {c_type(element)} *from, Index stride", f"return ({to})({parts});")

    def store_columns(self, dtype: DType, lanes: int, count: int) -> str:
        """Stores several vectors so that the elements of a lane lie next to each other, lanes `stride` apart."""
        v, mask = self.vector(dtype, lanes), self.mask(dtype, lanes)
        self._mixes = True
        vectors = ", ".join(f"{v} x{n}" for n in range(count))
        body = turned_text(v, mask, lanes, count, dtype.size_bytes)
        return self._add(f"store_columns_{v}_{count}", "void", f"{c_type(dtype)} *to, Index stride, {vectors}", body)

    def splat(self, dtype: DType, lanes: int) -> str:
        v = self.vector(dtype, lanes)
        return self._add(f"splat_{v}", v, f"{c_type(dtype)} x", f"return ({v}){{{', '.join(['x'] * lanes)}}};")

    def gather(self, dtype: DType, lanes: int) -> str:
        v = self.vector(dtype, lanes)
        items = ", ".join("from[0]" if n == 0 else "from[stride]" if n == 1 else f"from[{n} * stride]" for n in range(lanes))
        return self._add(f"gather_{v}", v, f"const {c_type(dtype)} *from, Index stride", f"return ({v}){{{items}}};")

    def load_close(self, dtype: DType, close: Close, *, is_part: bool, operator: Operator = Operator.LOAD, count: int = 1) -> str:
        """A vector of every few elements; is_part: `fill` in lanes that are not first <= n < last. Of several starts their maxima
        or minima, taken of the vectors of neighbours."""
        v, mask, scalar = self.vector(dtype, close.lanes), self.mask(dtype, close.lanes), c_type(dtype)
        load = self.load_part(dtype, close.lanes) if is_part else self.load(dtype, close.lanes)
        names = ["from"] if count == 1 else [f"from_{n}" for n in range(count)]
        self._mixes = True

        def piece(start: int, more: str = "") -> str:
            texts = [f"{load}({name}{f' + {start}' if start else ''}{more})" for name in names]
            return reduce(lambda a, b: f"{self.extreme(operator, dtype, close.lanes)}({a}, {b})", texts)

        parameters = ", ".join(f"const {scalar} *{name}" for name in names)
        if is_part:
            parameters += f", Index first, Index last, {scalar} fill"
            body = close.part_text(v, mask, lambda start, limits: piece(start, f", {limits}, fill"))
        else:
            body = close.text(v, mask, piece)
        name = f"{operator.value}{'_part' if is_part else ''}_{v}_{close.name}{f'_of_{count}' if count > 1 else ''}"
        return self._add(name, v, parameters, body)

    def load_part(self, dtype: DType, lanes: int) -> str:
        """Lanes first <= n < last; `fill` in the others."""
        v, scalar = self.vector(dtype, lanes), c_type(dtype)
        parameters = f"const {scalar} *from, Index first, Index last, {scalar} fill"
        plain = f"{v} part = {self.splat(dtype, lanes)}(fill);\n{_lane_loop(lanes, 'part[n] = from[n];')}\n    return part;"
        masked = "return {prefix}_mask_loadu_{suffix}({splat}(fill), lanes, from);"
        return self._add(f"load_part_{v}", v, parameters, self._masked(dtype, lanes, masked, plain))

    def store_part(self, dtype: DType, lanes: int) -> str:
        v, scalar = self.vector(dtype, lanes), c_type(dtype)
        plain = _lane_loop(lanes, "to[n] = value[n];").lstrip()
        masked = "{prefix}_mask_storeu_{suffix}(to, lanes, value); return;"
        parameters = f"{scalar} *to, Index first, Index last, {v} value"
        return self._add(f"store_part_{v}", "void", parameters, self._masked(dtype, lanes, masked, plain))

    def pick_part(self, dtype: DType, lanes: int) -> str:
        """One vector in lanes first <= n < last, another in the rest."""
        v = self.vector(dtype, lanes)
        plain = f"{_lane_loop(lanes, 'no[n] = yes[n];').lstrip()}\n    return no;"
        masked = "return {prefix}_mask_blend_{suffix}(lanes, no, yes);"
        return self._add(
            f"pick_part_{v}", v, f"Index first, Index last, {v} yes, {v} no", self._masked(dtype, lanes, masked, plain)
        )

    def _masked(self, dtype: DType, lanes: int, masked: str, plain: str) -> str:
        intrinsics = _INTRINSICS.get((dtype.name, lanes))
        if intrinsics is None:
            return plain
        self._has_intrinsics = True
        _, prefix, suffix = intrinsics
        macro = _masking(dtype, lanes)
        low = f"(first < 0 ? 0 : first > {lanes} ? {lanes} : first)"
        high = f"(last < 0 ? 0 : last > {lanes} ? {lanes} : last)"
        bits = f"const unsigned lanes = ((1u << {high}) - 1) & ~((1u << {low}) - 1);"
        call = masked.format(prefix=prefix, suffix=suffix, splat=self.splat(dtype, lanes))
        return f"#ifdef {macro}\n    {bits}\n    {call}\n#else\n    {plain}\n#endif"

    def extreme(self, operator: Operator, dtype: DType, lanes: int, *, is_total: bool = False) -> str:
        """Maximum or minimum of two scalars (`lanes` 1) or vectors; NaN where either is NaN. is_total: the second one is a
        running total, whose way through the function is the shorter."""
        either = self.extreme_or_second(operator, dtype, lanes)
        if not dtype.is_float:
            return either
        if lanes == 1:
            # Two choices, the first of which is one instruction; of one by `|` compilers make a branch that may be mispredicted.
            scalar = c_type(dtype)
            body = f"const {scalar} most = {either}(a, b);\n    return a != a ? a : most;"
            return self._add(f"{operator.value}_{dtype.name}", scalar, f"{scalar} a, {scalar} b", body)
        v = self.vector(dtype, lanes)
        body = f"return {self.select(dtype, lanes)}(a != a, a, {either}(a, b));"
        if (intrinsics := _INTRINSICS.get((dtype.name, lanes))) is not None:
            _, prefix, suffix = intrinsics
            if is_total:
                ordered = f"{prefix}_cmp_{suffix}_mask(a, a, _CMP_ORD_Q)"
                masked = f"{prefix}_mask_{operator.value}_{suffix}(a, {ordered}, a, b)"
            else:  # no mask, which only one port can make, and that port also picks elements
                numbers = "epi32" if dtype.bits == 32 else "epi64" if prefix == "_mm512" else "epi64x"
                masked = f"{prefix}_fixupimm_{suffix}({either}(a, b), a, {prefix}_set1_{numbers}({_NANS_OF_FIRST}), 0)"
            body = f"#ifdef {_masking(dtype, lanes)}\n    return {masked};\n#else\n    {body}\n#endif"
        return self._add(f"{operator.value}_{'total_' if is_total else ''}{v}", v, f"{v} a, {v} b", body)

    def extreme_of_three(self, operator: Operator, dtype: DType, lanes: int) -> str:
        """Maximum or minimum of three vectors of floats, the last one a running total; NaN where one is NaN."""
        v, mask, either = self.vector(dtype, lanes), self.mask(dtype, lanes), self.extreme_or_second(operator, dtype, lanes)
        most = f"{either}({either}(a, b), total)"
        body = f"return ({v})(({mask}){most} | (a != a) | (b != b));"  # a NaN has all bits set
        if (intrinsics := _INTRINSICS.get((dtype.name, lanes))) is not None:
            macro, prefix, suffix = intrinsics
            ordered = f"{prefix}_cmp_{suffix}_mask(a, b, _CMP_ORD_Q)"
            masked = f"{prefix}_mask_{operator.value}_{suffix}({self.splat(dtype, lanes)}(NAN), {ordered}, {either}(a, b), total)"
            branches = [f"#if defined({_masking(dtype, lanes)})\n    return {masked};"]
            if prefix != "_mm512":
                of = f"cmp_{suffix}(a, b, _CMP_UNORD_Q)" if prefix == "_mm256" else f"cmpunord_{suffix}(a, b)"
                branches.append(f"#elif defined({macro})\n    return {prefix}_or_{suffix}({most}, {prefix}_{of});")
            body = "\n".join([*branches, f"#else\n    {body}\n#endif"])
        return self._add(f"{operator.value}_of_three_{v}", v, f"{v} a, {v} b, {v} total", body)

    def extreme_or_second(self, operator: Operator, dtype: DType, lanes: int) -> str:
        """Maximum or minimum of two; the second one where they cannot be compared: what x86 does in one instruction, and right
        unless the first one is NaN."""
        choice, second = f"a {'>' if operator is Operator.MAX else '<'} b", "_or_second" if dtype.is_float else ""
        if lanes == 1:
            scalar = c_type(dtype)
            return self._add(
                f"{operator.value}{second}_{dtype.name}", scalar, f"{scalar} a, {scalar} b", f"return {choice} ? a : b;"
            )
        v = self.vector(dtype, lanes)
        body = f"return {self.select(dtype, lanes)}({choice}, a, b);"
        if (intrinsics := _INTRINSICS.get((dtype.name, lanes))) is not None:
            self._has_intrinsics = True
            macro, prefix, suffix = intrinsics
            body = f"#ifdef {macro}\n    return {prefix}_{operator.value}_{suffix}(a, b);\n#else\n    {body}\n#endif"
        return self._add(f"{operator.value}{second}_{v}", v, f"{v} a, {v} b", body)

    def select(self, dtype: DType, lanes: int) -> str:
        v, mask = self.vector(dtype, lanes), self.mask(dtype, lanes)
        body = f"return ({v})((choice & ({mask})yes) | (~choice & ({mask})no));"
        return self._add(f"select_{v}", v, f"{mask} choice, {v} yes, {v} no", body)

    def mask(self, dtype: DType, lanes: int) -> str:
        """The vector of signed integers that a comparison gives."""
        return self.vector(DType(f"i{dtype.bits}", "int", dtype.bits), lanes)

    def fma(self, dtype: DType) -> str:
        """Name of the multiply-add of scalars."""
        return {"f64": "fma", "f32": "fmaf"}.get(dtype.name, "")

    def divided(self, divisor: int, lanes: int) -> str:
        """Vectors of f32 over a divisor of `is_divisor`: fused steps where the machine has them for such vectors."""
        v = self.vector(f32, lanes)
        body = f"return a / {c_literal(f32, divisor).text};"
        if (intrinsics := _INTRINSICS.get(("f32", lanes))) is not None:
            self._has_intrinsics = True
            _, prefix, suffix = intrinsics
            splat = self.splat(f32, lanes)
            product, fused, most = (f"{prefix}_{name}_{suffix}" for name in ("mul", "fmadd", "max"))
            floats = FloatType(v, product, fused, most, lambda number: f"{splat}({c_literal(f32, number).text})")
            steps = "\n    ".join(division_steps(floats, divisor))
            macro = "__AVX512F__" if lanes * f32.size_bytes == 64 else "__FMA__"
            body = f"#ifdef {macro}\n    {steps}\n#else\n    {body}\n#endif"
        return self._add(f"divided_{v}_by_{divisor}", v, f"{v} a", body)

    def unary(self, operator: Operator, dtype: DType, lanes: int) -> str:
        """exp and the like, or abs: a function of one scalar (`lanes` 1) or vector."""
        row = ROWS[operator]
        if lanes == 1:
            if dtype.is_float:
                return row.c + ("f" if dtype.bits < 64 else "")
            return "llabs" if operator is Operator.ABS else row.c
        v = self.vector(dtype, lanes)
        scalar = self.unary(operator, dtype, 1)
        if operator is Operator.ABS and dtype.is_float:
            mask = self.mask(dtype, lanes)
            return self._add(f"abs_{v}", v, f"{v} x", f"return ({v})(({mask})x & {(1 << dtype.bits - 1) - 1:#x});")
        if row.name in OF_VECTORS_F32 and dtype == f32:
            return self._add(f"{operator.value}_{v}", v, f"{v} x", self._filled(OF_VECTORS_F32[row.name], lanes))
        body = f"{v} y;\n    for (int n = 0; n < {lanes}; ++n) y[n] = {scalar}(x[n]);\n    return y;"
        if row.intrinsic and (intrinsics := _INTRINSICS.get((dtype.name, lanes))) is not None:
            self._has_intrinsics = True
            macro, prefix, suffix = intrinsics
            body = f"#ifdef {macro}\n    return {prefix}_{row.intrinsic}_{suffix}(x);\n#else\n    {body}\n#endif"
        return self._add(f"{operator.value}_{v}", v, f"{v} x", body)

    def _filled(self, template: str, lanes: int) -> str:
        """A text of `functions` for vectors of so many f32, with the helpers that it uses."""
        names = {"V": self.vector(f32, lanes), "I": self.mask(f32, lanes)}
        for name in re.findall(r"\$([A-Z]+)\(", template):
            if name in PARTS_F32:
                names[name] = self._part(name, lanes)
            elif name == "SELECT":
                names[name] = self.select(f32, lanes)
            elif name == "SPLAT":
                names[name] = self.splat(f32, lanes)
            elif name in _EXTREMES:
                names[name] = self.extreme_or_second(_EXTREMES[name], f32, lanes)
            elif name != "V":
                names[name] = self.unary(Operator[name], f32, lanes)
        for name, value in names.items():
            template = template.replace(f"${name}", value)
        return template

    def _part(self, name: str, lanes: int) -> str:
        v, part = self.vector(f32, lanes), PARTS_F32[name]
        body = self._filled(part.plain, lanes)
        if (intrinsics := _INTRINSICS.get(("f32", lanes))) is not None:
            self._has_intrinsics = True
            _, prefix, suffix = intrinsics
            value = part.intrinsics.replace("$PREFIX", prefix).replace("$SUFFIX", suffix)
            body = f"#ifdef {_masking(f32, lanes)}\n    return {value};\n#else\n    {body}\n#endif"
        return self._add(f"{name.lower()}_{v}", v, part.parameters.replace("$V", v), body)

    def total(self, operator: Operator, dtype: DType, lanes: int) -> str:
        """All lanes of a vector joined, in halves."""
        v, scalar = self.vector(dtype, lanes), c_type(dtype)
        if lanes == 2:
            return self._add(
                f"total_{operator.value}_{v}",
                scalar,
                f"{v} x",
                f"return {self.join(operator, dtype, 1, Text('x[0]'), Text('x[1]')).text};",
            )
        half = self.vector(dtype, lanes // 2)
        rest = self.total(operator, dtype, lanes // 2)
        body = (
            f"{half} low, high;\n"
            f"    __builtin_memcpy(&low, &x, sizeof low);\n"
            f"    __builtin_memcpy(&high, (const char *)&x + sizeof low, sizeof high);\n"
            f"    return {rest}({self.join(operator, dtype, lanes // 2, Text('low'), Text('high')).text});"
        )
        return self._add(f"total_{operator.value}_{v}", scalar, f"{v} x", body)

    def join(self, operator: Operator, dtype: DType, lanes: int, first: Text, second: Text) -> Text:
        """The text of a reduction's step."""
        match operator:
            case Operator.ADD | Operator.FMA:
                return binary("+", first, second, inner=PRIMARY)
            case Operator.MUL:
                return binary("*", first, second, inner=PRIMARY)
            case Operator.MAX | Operator.MIN:
                return call(self.extreme(operator, dtype, lanes), first, second)
            case _:
                raise UnsupportedError(
                    Diagnostic(
                        "CPU_COMBINE", f"expected partial results of add, mul, max or min, got {operator.value}", fix="use CHAIN"
                    )
                )

    def _add(self, name: str, result: str, parameters: str, body: str) -> str:
        if name not in self._functions:
            indent = "" if body.startswith("#") else "    "
            head = f"static inline __attribute__((always_inline)) {result} {name}({parameters})"
            self._functions[name] = f"{head} {{\n{indent}{body}\n}}\n"
        return name


def _lane_loop(lanes: int, statement: str) -> str:
    return f"    for (Index n = 0; n < {lanes}; ++n)\n        if (first <= n && n < last) {statement}"


def _masking(dtype: DType, lanes: int) -> str:
    """The macro that says that vectors of this size have masks."""
    return "__AVX512F__" if lanes * dtype.size_bytes == 64 else "__AVX512VL__"
