"""Makes one callable on lane arrays of an opcode and its modifiers.

`bind("mad", ("lo", "s32"))` gives an `Operation` whose `evaluate` takes the instruction's source operands in PTX order,
as bits of the types in `sources`, and returns the destination. Decode once, evaluate often.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias, cast

from warploom.ptx.simt.numerics import bit_fields, float_arithmetic, integers, logic
from warploom.ptx.simt.numerics.approximations import (
    Approximation,
    approximation_of,
    float_div,
    float_function,
    float_rcp,
    float_rsqrt,
    float_sqrt,
)
from warploom.ptx.simt.numerics.comparisons import COMPARISONS, set_value, setp
from warploom.ptx.simt.numerics.conversions import convert, convert_pack, convert_pair
from warploom.ptx.simt.numerics.modifiers import Modifiers
from warploom.ptx.simt.numerics.scalars import Bits, Flags, scalar_type, unsupported

Value: TypeAlias = "Bits | Flags"
Evaluate: TypeAlias = Callable[..., Any]

_ROUNDINGS = ("rn", "rz", "rm", "rp")
_CONVERT_ROUNDINGS = (*_ROUNDINGS, "rni", "rzi", "rmi", "rpi", "rna")


@dataclass(frozen=True, slots=True)
class Operation:
    """One instruction's arithmetic.

    evaluate: operands in PTX order; gives one array, or a tuple where there are several results.
    sources, results: a type name each, whose register width the operand has; `pred` for a predicate (negation already
    applied), `carry` for CC.CF (read after the written operands, written after the destination), `immediate` for a
    Python int (lop3's table). setp always gives p and q; drop q where the instruction names none.
    approximation: None for exact and correctly rounded instructions.
    """

    evaluate: Evaluate
    sources: tuple[str, ...]
    results: tuple[str, ...]
    approximation: Approximation | None = None


def bind(opcode: str, modifiers: Sequence[str], source_count: int = 0) -> Operation:
    """The arithmetic of `opcode` with its modifiers, without dots and in the instruction's order, types last.

    `source_count`: how many source operands the instruction has; only min and max of f32 need it (3 on sm_100 and later).
    An instruction that is not arithmetic, or a modifier that is not understood, raises `UnsupportedError`.
    """
    rule = _RULES.get(opcode)
    if rule is None:
        raise unsupported(f"instruction {opcode}")
    taken = Modifiers(opcode, modifiers, source_count)
    evaluate, sources, results = rule(opcode, taken)
    taken.finish()
    return Operation(evaluate, sources, results, approximation_of(opcode, modifiers))


def is_arithmetic(opcode: str) -> bool:
    """Whether `bind` knows the opcode; the modifiers may still be refused."""
    return opcode in _RULES


_Rule: TypeAlias = "Callable[[str, Modifiers], tuple[Evaluate, tuple[str, ...], tuple[str, ...]]]"
_Bound: TypeAlias = "tuple[Evaluate, tuple[str, ...], tuple[str, ...]]"


def _doubled(name: str) -> str:
    return f"{name[0]}{2 * int(name[1:])}"


def _is_float(name: str) -> bool:
    return scalar_type(name).is_float


def _add(opcode: str, taken: Modifiers) -> _Bound:
    name = taken.type()
    if _is_float(name):
        operation = {"add": float_arithmetic.float_add, "sub": float_arithmetic.float_sub}[opcode]
        rounding = cast(Any, taken.one_of(_ROUNDINGS, "rn"))
        ready = partial(operation, name, rounding=rounding, ftz=taken.has("ftz"), sat=taken.has("sat"))
        if len(taken.types) == 2:
            return _mixed(ready, taken, 1)
        return ready, (name, name), (name,)
    if taken.has("cc"):
        carrying = {"add": integers.add_carry, "sub": integers.sub_borrow}[opcode]
        return partial(carrying, name), (name, name), (name, "carry")
    whole = {"add": integers.integer_add, "sub": integers.integer_sub}[opcode]
    return partial(whole, name, sat=taken.has("sat")), (name, name), (name,)


def _mixed(ready: Evaluate, taken: Modifiers, narrow: int) -> _Bound:
    """add, sub and fma of f32 with `narrow` leading operands of f16 or bf16."""
    name, source = taken.type(0), taken.type(1)

    def evaluate(*operands: Bits) -> Bits:
        return ready(*(convert(name, source, operand) for operand in operands[:narrow]), *operands[narrow:])

    return evaluate, (source,) * narrow + (name,), (name,)


def _carrying(opcode: str, taken: Modifiers) -> _Bound:
    name = taken.type()
    operation: Evaluate
    if opcode == "madc":
        operation = partial(integers.mad_carry, name, cast(Any, taken.one_of(("lo", "hi"))))
    else:
        operation = partial(integers.sub_borrow if opcode == "subc" else integers.add_carry, name)
    sources = (name,) * (3 if opcode == "madc" else 2)
    if taken.has("cc"):
        return operation, (*sources, "carry"), (name, "carry")

    def without_carry_out(*operands: Value) -> Bits:
        return cast(Evaluate, operation)(*operands)[0]

    return without_carry_out, (*sources, "carry"), (name,)


def _mul(opcode: str, taken: Modifiers) -> _Bound:
    name = taken.type()
    if _is_float(name):
        rounding = taken.one_of(_ROUNDINGS, "rn")
        options = {"rounding": rounding, "ftz": taken.has("ftz"), "sat": taken.has("sat")}
        return partial(cast(Evaluate, float_arithmetic.float_mul), name, **options), (name, name), (name,)
    half = taken.one_of(("lo", "hi", "wide"))
    return partial(integers.integer_mul, name, cast(Any, half)), (name, name), (_doubled(name) if half == "wide" else name,)


def _mad(opcode: str, taken: Modifiers) -> _Bound:
    name = taken.type()
    if _is_float(name):
        return _fma(opcode, taken)
    half = taken.one_of(("lo", "hi", "wide"))
    wide = _doubled(name) if half == "wide" else name
    if taken.has("cc"):
        return partial(integers.mad_carry, name, cast(Any, half)), (name, name, name), (name, "carry")
    operation = partial(integers.integer_mad, name, cast(Any, half), sat=taken.has("sat"))
    return operation, (name, name, wide), (wide,)


def _fma(opcode: str, taken: Modifiers) -> _Bound:
    name = taken.type()
    ready = partial(
        float_arithmetic.float_fma,
        name,
        rounding=cast(Any, taken.one_of(_ROUNDINGS, "rn" if opcode == "mad" else None)),
        ftz=taken.has("ftz"),
        sat=taken.has("sat"),
        relu=taken.has("relu"),
    )
    if len(taken.types) == 2:
        return _mixed(ready, taken, 2)
    return ready, (name, name, name), (name,)


def _product24(opcode: str, taken: Modifiers) -> _Bound:
    name = taken.type()
    half = cast(Any, taken.one_of(("lo", "hi")))
    if opcode == "mul24":
        return partial(integers.integer_mul24, name, half), (name, name), (name,)
    return partial(integers.integer_mad24, name, half, sat=taken.has("sat")), (name, name, name), (name,)


def _sad(opcode: str, taken: Modifiers) -> _Bound:
    name = taken.type()
    return partial(integers.integer_sad, name), (name,) * 3, (name,)


def _div(opcode: str, taken: Modifiers) -> _Bound:
    name = taken.type()
    if not _is_float(name):
        return partial(integers.integer_div, name), (name, name), (name,)
    rounding = taken.one_of((*_ROUNDINGS, "approx", "full"))
    return partial(float_div, name, rounding=rounding, ftz=taken.has("ftz")), (name, name), (name,)


def _rem(opcode: str, taken: Modifiers) -> _Bound:
    name = taken.type()
    return partial(integers.integer_rem, name), (name, name), (name,)


def _sign(opcode: str, taken: Modifiers) -> _Bound:
    name = taken.type()
    if _is_float(name):
        operation = {"abs": float_arithmetic.float_abs, "neg": float_arithmetic.float_neg}[opcode]
        return partial(operation, name, ftz=taken.has("ftz")), (name,), (name,)
    whole = {"abs": integers.integer_abs, "neg": integers.integer_neg}[opcode]
    return partial(whole, name), (name,), (name,)


def _extreme(opcode: str, taken: Modifiers) -> _Bound:
    name = taken.type()
    if _is_float(name):
        operation = {"min": float_arithmetic.float_min, "max": float_arithmetic.float_max}[opcode]
        ftz, nan = taken.has("ftz"), taken.has("NaN")
        if taken.source_count == 3 and name == "f32":
            return _of_three(operation, ftz, nan, taken.has("abs"))
        flipped = taken.has("xorsign")
        if flipped and not taken.has("abs"):
            raise unsupported(taken.text)
        ready = partial(operation, name, ftz=ftz, nan=nan, xorsign_abs=flipped)
        return ready, (name, name), (name,)
    whole = {"min": integers.integer_min, "max": integers.integer_max}[opcode]
    return partial(whole, name, relu=taken.has("relu")), (name, name), (name,)


def _of_three(operation: Evaluate, ftz: bool, nan: bool, absolute: bool) -> _Bound:
    """min and max of three f32."""

    def evaluate(*operands: Bits) -> Bits:
        a, b, c = (float_arithmetic.float_abs("f32", operand) for operand in operands) if absolute else operands
        return operation("f32", operation("f32", a, b, ftz=ftz, nan=nan), c, ftz=ftz, nan=nan)

    return evaluate, ("f32",) * 3, ("f32",)


def _count(opcode: str, taken: Modifiers) -> _Bound:
    name = taken.type()
    if opcode == "bfind":
        return partial(bit_fields.bfind, name, shiftamt=taken.has("shiftamt")), (name,), ("u32",)
    operation = {"popc": bit_fields.popc, "clz": bit_fields.clz}[opcode]
    return partial(operation, name), (name,), ("u32",)


def _field(opcode: str, taken: Modifiers) -> _Bound:
    name = taken.type()
    match opcode:
        case "brev":
            return partial(bit_fields.brev, name), (name,), (name,)
        case "bfe":
            return partial(bit_fields.bfe, name), (name, "u32", "u32"), (name,)
        case "bfi":
            return partial(bit_fields.bfi, name), (name, name, "u32", "u32"), (name,)
        case "fns":
            return bit_fields.fns, ("b32", "b32", "s32"), ("b32",)
        case "szext":
            mode = cast(Any, taken.one_of(("clamp", "wrap")))
            return partial(bit_fields.szext, name, mode), (name, "u32"), (name,)
        case _:
            return partial(bit_fields.bmsk, cast(Any, taken.one_of(("clamp", "wrap")))), ("u32", "u32"), ("b32",)


def _dot(opcode: str, taken: Modifiers) -> _Bound:
    first, second = taken.type(0), taken.type(1)
    total = "s32" if "s32" in (first, second) else "u32"
    sources = ("b32", "b32", total)
    if opcode == "dp4a":
        return partial(integers.dp4a, first, second), sources, (total,)
    return partial(integers.dp2a, cast(Any, taken.one_of(("lo", "hi"))), first, second), sources, (total,)


def _logic(opcode: str, taken: Modifiers) -> _Bound:
    name = taken.type()
    operation = {"and": logic.logic_and, "or": logic.logic_or, "xor": logic.logic_xor}.get(opcode)
    if operation is not None:
        return operation, (name, name), (name,)
    return {"not": logic.logic_not, "cnot": logic.cnot}[opcode], (name,), (name,)


def _lop3(opcode: str, taken: Modifiers) -> _Bound:
    name = taken.type()
    operator = taken.one_of(("and", "or"), "")
    if not operator:
        return logic.lop3, (name, name, name, "immediate"), (name,)
    operation = partial(logic.lop3_predicate, cast(Any, operator))
    return operation, (name, name, name, "immediate", "pred"), (name, "pred")


def _shift(opcode: str, taken: Modifiers) -> _Bound:
    name = taken.type()
    if opcode == "shf":
        direction = cast(Any, taken.one_of(("l", "r")))
        mode = cast(Any, taken.one_of(("clamp", "wrap")))
        return partial(logic.shf, direction, mode), ("b32", "b32", "u32"), ("b32",)
    return partial({"shl": logic.shl, "shr": logic.shr}[opcode], name), (name, "u32"), (name,)


def _prmt(opcode: str, taken: Modifiers) -> _Bound:
    mode = taken.one_of(("f4e", "b4e", "rc8", "ecl", "ecr", "rc16"), "")
    return partial(bit_fields.prmt, mode), ("b32", "b32", "b32"), ("b32",)


def _select(opcode: str, taken: Modifiers) -> _Bound:
    name = taken.type()
    if opcode == "selp":
        return logic.selp, (name, name, "pred"), (name,)
    selector = taken.type(1)
    operation = partial(logic.slct, cast(Any, selector), ftz=taken.has("ftz"))
    return operation, (name, name, selector), (name,)


def _compare(opcode: str, taken: Modifiers) -> _Bound:
    operator = taken.one_of(COMPARISONS)
    joined = taken.one_of(("and", "or", "xor"), "") or None
    ftz = taken.has("ftz")
    name = taken.type(max(len(taken.types) - 1, 0))
    if opcode == "setp":
        operation: Evaluate = partial(setp, operator, name, combine_with=cast(Any, joined), ftz=ftz)
        results = ("pred", "pred")
    else:
        operation = partial(set_value, operator, taken.type(0), name, combine_with=cast(Any, joined), ftz=ftz)
        results = (taken.type(0),)
    if joined is None:
        return operation, (name, name), results

    def combined(a: Bits, b: Bits, c: Flags) -> Value | tuple[Flags, Flags]:
        return operation(a, b, c=c)

    return combined, (name, name, "pred"), results


def _testp(opcode: str, taken: Modifiers) -> _Bound:
    name = taken.type()
    wanted = taken.one_of(("finite", "infinite", "number", "notanumber", "normal", "subnormal"))
    return partial(float_arithmetic.testp, cast(Any, wanted), name), (name,), ("pred",)


def _copysign(opcode: str, taken: Modifiers) -> _Bound:
    name = taken.type()
    return partial(float_arithmetic.copysign, name), (name, name), (name,)


def _root(opcode: str, taken: Modifiers) -> _Bound:
    name = taken.type()
    rounding = taken.one_of((*_ROUNDINGS, "approx"))
    operation = {"rcp": float_rcp, "sqrt": float_sqrt}[opcode]
    return partial(operation, name, rounding=rounding, ftz=taken.has("ftz")), (name,), (name,)


def _function(opcode: str, taken: Modifiers) -> _Bound:
    name = taken.type()
    taken.one_of(("approx",))
    ftz = taken.has("ftz")
    if opcode == "rsqrt":
        return partial(float_rsqrt, name, ftz=ftz), (name,), (name,)
    return partial(float_function, opcode, name, ftz=ftz), (name,), (name,)


def _convert(opcode: str, taken: Modifiers) -> _Bound:
    if taken.has("pack"):
        return _pack(taken)
    result, source = taken.type(0), taken.type(1)
    rounding = taken.one_of(_CONVERT_ROUNDINGS, "")
    relu, satfinite = taken.has("relu"), taken.has("satfinite")
    if scalar_type(result).lanes == 2 and scalar_type(source).lanes == 1:
        pair = partial(convert_pair, result, source, rounding=rounding, relu=relu, satfinite=satfinite)
        return pair, (source, source), (result,)
    ftz, sat = taken.has("ftz"), taken.has("sat")
    single = partial(convert, result, source, rounding=rounding, ftz=ftz, sat=sat, relu=relu, satfinite=satfinite)
    return single, (source,), (result,)


def _pack(taken: Modifiers) -> _Bound:
    taken.one_of(("sat",))
    narrow = taken.one_of(("u2", "s2", "u4", "s4"), "") or taken.type(0)
    first = 0 if narrow not in taken.types else 1
    source = taken.type(first)
    sources = (source, source, "b32") if len(taken.types) > first + 1 else (source, source)
    return partial(convert_pack, narrow, source), sources, ("b32",)


_RULES: dict[str, _Rule] = {
    **dict.fromkeys(("add", "sub"), _add),
    **dict.fromkeys(("addc", "subc", "madc"), _carrying),
    **dict.fromkeys(("mul24", "mad24"), _product24),
    **dict.fromkeys(("abs", "neg"), _sign),
    **dict.fromkeys(("min", "max"), _extreme),
    **dict.fromkeys(("popc", "clz", "bfind"), _count),
    **dict.fromkeys(("brev", "bfe", "bfi", "fns", "szext", "bmsk"), _field),
    **dict.fromkeys(("dp4a", "dp2a"), _dot),
    **dict.fromkeys(("and", "or", "xor", "not", "cnot"), _logic),
    **dict.fromkeys(("shl", "shr", "shf"), _shift),
    **dict.fromkeys(("selp", "slct"), _select),
    **dict.fromkeys(("set", "setp"), _compare),
    **dict.fromkeys(("rcp", "sqrt"), _root),
    **dict.fromkeys(("rsqrt", "sin", "cos", "lg2", "ex2", "tanh"), _function),
    "mul": _mul,
    "mad": _mad,
    "fma": _fma,
    "sad": _sad,
    "div": _div,
    "rem": _rem,
    "lop3": _lop3,
    "prmt": _prmt,
    "testp": _testp,
    "copysign": _copysign,
    "cvt": _convert,
}

OPCODES: tuple[str, ...] = tuple(sorted(_RULES))
"""Every opcode that `bind` knows."""
