"""Terms as text, in the manner of the paper's Listing 5: `0xc + (load(param2) + %tid.x << 0x2)`."""

from __future__ import annotations

from warploom.ptx.symbolic.term import Term, linear, signed

_DEPTH = 24
"""Deeper terms are cut off with an ellipsis."""

_INFIX = {"and": "&", "or": "|", "xor": "^", "shl": "<<", "lshr": ">>u", "ashr": ">>s", "udiv": "/u", "sdiv": "/s",
          "ult": "<u", "slt": "<s"}  # fmt: skip


def term_text(term: Term, *, extensions: bool = True) -> str:
    """One line; `extensions=False` leaves out sign and zero extensions, as the paper does."""
    return _text(term, extensions, 0, False)


def _hex(value: int) -> str:
    return f"-{hex(-value)}" if value < 0 else hex(value)


def _text(term: Term, extensions: bool, depth: int, tight: bool) -> str:
    """`tight`: in parentheses unless it is one word."""
    if depth > _DEPTH:
        return "..."

    def inner(part: Term, is_tight: bool = False) -> str:
        return _text(part, extensions, depth + 1, is_tight)

    def wrapped(text: str) -> str:
        return f"({text})" if tight else text

    match term.op:
        case "const":
            return _hex(signed(int(term.data[0]), term.width)) if term.width > 1 else str(term.data[0])
        case "sum":
            return _sum_text(term, extensions, depth, tight)
        case "special":
            return f"%{term.data[0]}"
        case "parameter":
            return f"load({term.data[0]}{f'+{term.data[1]}' if term.data[1] else ''})"
        case "address" | "opaque":
            return str(term.data[0])
        case "counter":
            return f"iteration({term.data[0]})"
        case "loop":
            return f"loop({term.data[0]}, {term.data[1]})"
        case "load":
            return f"load({', '.join(map(inner, term.args))})"
        case "other":
            return f"{inner(term.args[0], True)}'{'.'.join(str(d) for d in term.data)}"
        case "product":
            if len(term.args) == 1:
                return inner(term.args[0], tight)
            return wrapped(" * ".join(inner(a, True) for a in term.args))
        case "zext" | "sext":
            return (
                f"{term.op}{term.width}({inner(term.args[0])})"
                if extensions
                else _text(term.args[0], extensions, depth + 1, tight)
            )
        case "trunc" if term.args[0].op == "address":
            return inner(term.args[0])
        case "trunc":
            return f"{inner(term.args[0], True)}[0:{term.width}]"
        case "high":
            return f"{inner(term.args[0], True)}[{term.data[0]}:{term.args[0].width}]"
        case "select":
            condition, x, y = term.args
            return wrapped(f"{inner(condition, True)} ? {inner(x, True)} : {inner(y, True)}")
        case "eq":
            return wrapped(_equation(term.args[0], extensions, depth))
        case "function":
            return f"{term.data[0]}({', '.join(map(inner, term.args))})"
        case "umin" | "umax" | "smin" | "smax":
            return f"{term.op}({', '.join(map(inner, term.args))})"
        case _:
            return wrapped(f" {_INFIX[term.op]} ".join(inner(a, True) for a in term.args))


def _negated_text(predicate: Term, extensions: bool, depth: int) -> str:
    if predicate.op in ("slt", "ult"):
        left, right = (_text(a, extensions, depth + 1, True) for a in predicate.args)
        return f"{left} >={predicate.op[0]} {right}"
    if predicate.op == "eq":
        return _equation(predicate.args[0], extensions, depth).replace(" == ", " != ")
    return ""


def _equation(difference: Term, extensions: bool, depth: int) -> str:
    constant, parts = linear(difference)
    rest = " + ".join(_summand(a, signed(c, difference.width), extensions, depth + 1) for a, c in parts)
    return f"{rest} == {_hex(-signed(constant, difference.width))}"


def _summand(atom: Term, coefficient: int, extensions: bool, depth: int) -> str:
    factor = abs(coefficient)
    sign = "-" if coefficient < 0 else ""
    if factor == 1:
        text = _text(atom, extensions, depth, tight=atom.op != "product")
        return f"({sign} {text})" if sign else text
    text = _text(atom, extensions, depth, tight=True)
    if factor & (factor - 1) == 0:
        text = f"{text} << {hex(factor.bit_length() - 1)}"
    else:
        text = f"{hex(factor)} * {text}"
    return f"(- ({text}))" if sign else f"({text})"


def _sum_text(term: Term, extensions: bool, depth: int, tight: bool) -> str:
    constant, parts = linear(term)
    if term.width == 1:
        if constant and len(parts) == 1 and (opposite := _negated_text(parts[0][0], extensions, depth)):
            return f"({opposite})" if tight else opposite
        joined = " ^ ".join(_text(a, extensions, depth + 1, tight=True) for a, _ in parts)
        if not constant:
            return f"({joined})" if tight else joined
        return f"!{joined}" if len(parts) == 1 else f"!({joined})"
    factors = {signed(c, term.width) for _, c in parts}
    words = [_hex(signed(constant, term.width))] if constant else []
    common = min(factors, key=abs)
    if len(parts) > 1 and len(factors) == 1 and abs(common) > 1:
        shared = " + ".join(_text(a, extensions, depth + 1, tight=True) for a, _ in parts)
        words.append(f"(({shared}) * {_hex(common)})")
    else:
        words += [_summand(a, signed(c, term.width), extensions, depth + 1) for a, c in parts]
    joined = " + ".join(words)
    return f"({joined})" if tight else joined
