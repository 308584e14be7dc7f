"""Expressions of matrix programs in Python, and the specification, which is sequential and runs on symbols."""

from __future__ import annotations

import keyword
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence

from warploom.core.tokens import wrong
from warploom.sketch.matrix.tree import (
    Accumulate,
    Assign,
    Binary,
    Call,
    Declared,
    Element,
    Expr,
    For,
    Function,
    Hole,
    If,
    Items,
    Name,
    Number,
    Return,
    Select,
    Statement,
    Unary,
)

_CONDITIONS = {"&&": "and", "||": "or"}
MAX_ELEMENTS = 1 << 16


def number(value: Expr, known: Mapping[str, int]) -> int:
    """A whole number that is known before the run."""
    match value:
        case Number(text=text) if text.isdigit() and len(text) < 10:
            return int(text)
        case Name(text=text) if text in known:
            return known[text]
        case Unary(sign="-", operand=operand):
            return -number(operand, known)
        case Binary(sign="+", left=left, right=right):
            return number(left, known) + number(right, known)
        case Binary(sign="-", left=left, right=right):
            return number(left, known) - number(right, known)
        case Binary(sign="*", left=left, right=right):
            return number(left, known) * number(right, known)
        case Binary(sign="/" | "%" as sign, left=left, right=right) if (divisor := number(right, known)) != 0:
            dividend = number(left, known)
            quotient = abs(dividend) // abs(divisor) * (1 if (dividend < 0) == (divisor < 0) else -1)  # C rounds towards zero
            return quotient if sign == "/" else dividend - quotient * divisor
        case _:
            raise wrong(value.span, "expected a whole number that is known here", "Declare it: int n = 4;")


def check_step(step: Expr, known: Mapping[str, int]) -> None:
    """Raises UserError for the step of a loop that does not count upwards: in C it may not end, in Python it has no iteration."""
    if (got := number(step, known)) <= 0:
        raise wrong(step.span, f"expected a step of 1 or more, got {got}", "Count upwards.")


def shape_of(one: Declared, known: Mapping[str, int]) -> tuple[int, ...]:
    found: list[int] = []
    for extent in one.extents:
        if extent is None:
            raise wrong(
                one.name.span, f"expected extents of {one.name.text}, got empty brackets", "Write the sizes of all matrices."
            )
        found.append(number(extent, known))
    total = 1
    for extent in found:
        total *= extent
    if not all(e > 0 for e in found) or total > MAX_ELEMENTS:
        raise wrong(
            one.name.span, f"expected 1 to {MAX_ELEMENTS} elements of {one.name.text}, got {total}", "Correct its extents."
        )
    return tuple(found)


def safe(name: Name) -> str:
    """The name in Python."""
    return f"{name.text}_" if keyword.iskeyword(name.text) or name.text in ("np", "wl", "range") else name.text


def statements(body: Sequence[Statement]) -> Iterator[Statement]:
    for statement in body:
        yield statement
        match statement:
            case For(body=inner):
                yield from statements(inner)
            case If(body=inner, other=other):
                yield from statements((*inner, *other))
            case _:
                pass


def parts_of(value: Expr) -> Iterator[Expr]:
    yield value
    inner: tuple[Expr, ...] = ()
    match value:
        case Unary(operand=operand):
            inner = (operand,)
        case Binary(left=left, right=right):
            inner = (left, right)
        case Select(test=test, then=then, other=other):
            inner = (test, then, other)
        case Element(indices=indices):
            inner = indices
        case Hole(arguments=arguments) | Call(arguments=arguments):
            inner = arguments
        case Items(parts=parts):
            inner = parts
        case Name() | Number():
            pass
    for part in inner:
        yield from parts_of(part)


def values_of(statement: Statement) -> tuple[Expr, ...]:
    """Expressions of a statement itself, not of those in it."""
    match statement:
        case Declared(value=value):
            return () if value is None else (value,)
        case Assign(target=target, value=value):
            return target, value
        case For(start=start, stop=stop, step=step):
            return start, stop, step
        case If(test=test):
            return (test,)
        case Return(value=value):
            return (value,)
        case Accumulate(target=target, operands=operands, when=when):
            return (target, *operands, *(() if when is None else (when,)))


class Printer(ABC):
    """Expressions in Python, with C's meaning."""

    def __init__(self, function: Function, numbers: Mapping[str, int]) -> None:
        self.numbers = dict(numbers)
        self.data: set[str] = set()
        """Scalars that hold data."""
        self._floats: set[str] = set()
        self._note_types(function)

    def _note_types(self, function: Function) -> None:
        every = list(statements(function.body))
        kinds: dict[str, bool] = {}
        data = next((p.type for p in function.parameters if p.extents), "f32")
        for one in (*function.parameters, *every):
            match one:
                case Declared(type=kind, name=name):
                    is_float = (data if kind == "acc" else kind) not in ("i32", "u32")
                case For(index=name):
                    is_float = False
                case _:
                    continue
            if kinds.setdefault(name.text, is_float) != is_float:
                raise wrong(name.span, f"expected one type of {name.text}, got another in an earlier block", "Rename it.")
        self._floats = {n for n, is_float in kinds.items() if is_float}
        changed = -1
        while changed != len(self.data):
            changed = len(self.data)
            for one in every:
                match one:
                    case Declared(name=Name(text=text), extents=(), value=value) if value is not None and self.is_data(value):
                        self.data.add(text)
                    case Assign(target=Name(text=text), value=value) if self.is_data(value):
                        self.data.add(text)
                    case _:
                        pass
        for one in (*function.parameters, *every):
            if isinstance(one, Declared) and one.type == "u32" and not one.extents and one.name.text not in self.data:
                message = f"expected int for {one.name.text}, which is no data, got unsigned"
                raise wrong(one.name.span, message, "Declare it int: C's unsigned numbers wrap below 0, those here do not.")

    def is_data(self, value: Expr) -> bool:
        return any(isinstance(p, Element) or (isinstance(p, Name) and p.text in self.data) for p in parts_of(value))

    def is_float(self, value: Expr) -> bool:
        """Whether C computes it in floats."""
        match value:
            case Number(text=text):
                return not text.isdigit()
            case Name(text=text) | Element(matrix=Name(text=text)):
                return text in self._floats
            case Unary(sign=sign, operand=operand):
                return sign != "!" and self.is_float(operand)
            case Binary(sign=sign, left=left, right=right):
                return sign in ("+", "-", "*", "/", "%") and (self.is_float(left) or self.is_float(right))
            case Select(then=then, other=other):
                return self.is_float(then) or self.is_float(other)
            case Call(arguments=parts) | Items(parts=parts):
                return any(map(self.is_float, parts))
            case Hole():
                return False

    def check_held(self, target: Expr, value: Expr) -> None:
        """Raises UserError where C converts what is assigned: Python does not."""
        name = target.matrix if isinstance(target, Element) else target
        if not isinstance(name, Name):
            return
        if name.text not in self._floats and self.is_float(value):
            message = f"expected whole numbers for {name.text}, which is declared so, got floats"
            raise wrong(name.span, message, f"Declare it: float {name.text}")
        if name.text in self._floats and self.is_data(value) and not self.is_float(value):
            message = f"expected floats for {name.text}, which is declared so, got data of whole numbers"
            raise wrong(name.span, message, f"Declare it: int {name.text}")

    def _truth(self, value: Expr) -> str:
        """A condition, of which Python's `and` and `or` make a truth value, as C's `&&` and `||` do."""
        match value:
            case Unary(sign="!") | Binary(sign="&&" | "||" | "==" | "!=" | "<" | "<=" | ">" | ">=") | Name(text="true" | "false"):
                return self.text(value)
            case Hole(name="sw_cond"):
                return self.text(value)
            case _:
                return f"({self.text(value)} != 0)"

    @abstractmethod
    def divided(self, value: Binary) -> str:
        """The quotient or remainder of whole numbers, rounded towards zero."""

    def text(self, value: Expr) -> str:
        match value:
            case Number(text=text):
                return text
            case Name(text="true" | "false" as text):
                return text.capitalize()
            case Name():
                return safe(value)
            case Unary(sign="!", operand=operand):
                return f"(not {self._truth(operand)})"
            case Unary(operand=operand):
                return f"(-{self.text(operand)})"
            case Binary(sign="%") if self.is_float(value):
                raise wrong(value.span, "expected whole numbers for %, got floats", "C has % of whole numbers only.")
            case Binary(sign="%") if self.is_data(value):  # on symbols it is Python's, which rounds down
                raise wrong(value.span, "expected no % of data, got one", "% takes indices and known numbers.")
            case Binary(sign="/" | "%") if not self.is_float(value):
                return self.divided(value)
            case Binary(sign="&&" | "||" as sign, left=left, right=right):
                return f"({self._truth(left)} {_CONDITIONS[sign]} {self._truth(right)})"
            case Binary(sign=sign, left=left, right=right):
                return f"({self.text(left)} {sign} {self.text(right)})"
            case Select(test=test, then=then, other=other):
                return f"({self.text(then)} if {self.text(test)} else {self.text(other)})"
            case Element():
                return self.element(value)
            case Hole():
                return self.hole(value, None)
            case Call(name=name, arguments=arguments) if name.text in ("min", "max"):
                return f"{name.text}({', '.join(map(self.text, arguments))})"
            case Call():
                return self.call(value)
            case Items():
                raise wrong(value.span, "expected one value, got several", "Use a matrix.")

    def call(self, value: Call) -> str:
        name = value.name
        raise wrong(name.span, f"expected min, max or a matrix, got a call of {name.text}", "Write it out.")

    @abstractmethod
    def element(self, value: Element) -> str: ...

    def hole(self, value: Hole, extent: int | None, *, is_shared: bool = False) -> str:
        raise wrong(value.span, f"expected no hole in a specification, got ?{value.name}", "Write what it computes.")


class Serial(Printer):
    """The specification: it runs as Python on symbols."""

    def __init__(self, function: Function, numbers: Mapping[str, int]) -> None:
        super().__init__(function, numbers)
        self._function = function

    def divided(self, value: Binary) -> str:
        return f"{'_quotient' if value.sign == '/' else '_remainder'}({self.text(value.left)}, {self.text(value.right)})"

    def element(self, value: Element) -> str:
        """Python counts negative indices from the end; C has no such element."""
        indices = [f"_at({self.text(i)}, {value.matrix.text!r})" for i in value.indices]
        return f"{safe(value.matrix)}[{', '.join(indices)}]"

    def lines(self) -> list[str]:
        parameters = ", ".join(safe(p.name) for p in self._function.parameters)
        return [f"def {self._function.name.text}({parameters}):", *self._block(self._function.body, "    ")]

    def _block(self, body: Sequence[Statement], indent: str) -> list[str]:
        found: list[str] = []
        for statement in body:
            match statement:
                case Declared(name=name, extents=extents, value=value):
                    if value is not None and not extents:
                        self.check_held(name, value)
                    shape = ", ".join(self.text(e) for e in extents if e is not None)
                    if extents:
                        is_zero = isinstance(value, Items) and all(isinstance(p, Number) and p.text == "0" for p in value.parts)
                        if value is not None and not is_zero:
                            raise wrong(name.span, f"expected {{0}} or nothing as content of {name.text}", "Write it in a loop.")
                        content = f"_zeros({shape})" if is_zero else f"_empty({shape})"
                    else:
                        content = "None" if value is None else self.text(value)
                    found.append(f"{indent}{safe(name)} = {content}")
                case Assign(target=target, sign=sign, value=value):
                    self.check_held(target, value)
                    found.append(f"{indent}{self.text(target)} {sign} {self.text(value)}")
                case For(index=index, start=start, stop=stop, step=step, body=inner):
                    check_step(step, self.numbers)
                    bounds = ", ".join(map(self.text, (start, stop, step)))
                    found += [f"{indent}for {safe(index)} in range({bounds}):", *self._block(inner, indent + "    ")]
                case If(test=test, body=inner, other=other):
                    found += [f"{indent}if {self.text(test)}:", *self._block(inner, indent + "    ")]
                    found += [f"{indent}else:", *self._block(other, indent + "    ")] if other else []
                case Return(value=value):
                    found.append(f"{indent}return {self.text(value)}")
                case Accumulate(span=span):
                    raise wrong(span, "expected plain sums in a specification, got accumulate", "Write: out[i] += a * b;")
        return found or [f"{indent}pass"]
