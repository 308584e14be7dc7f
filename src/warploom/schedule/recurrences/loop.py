"""A recurrence as the serial loop that `scan` lifts: a list of elements in, a list of results out."""

from __future__ import annotations

import keyword
from dataclasses import dataclass
from math import inf

from warploom.core import Diagnostic, UnsupportedError
from warploom.schedule.backbone import COMPARING, ROWS, Operator
from warploom.schedule.frontend.tree import Apply, Expression, Number, Read, Scalar, indices_of
from warploom.schedule.recurrences.tree import Recurrence, reads_states


@dataclass(frozen=True, slots=True)
class SerialLoop:
    """Text of a function of lists: one for each element of an iteration, then what is the same in all of them."""

    name: str
    text: str
    elements: tuple[Expression, ...]
    """Values of one iteration that do not depend on what was before it, one for each list."""
    constants: tuple[Expression, ...]
    """Values that are the same in all iterations, one for each further parameter."""


def serial_loop(recurrence: Recurrence) -> SerialLoop:
    """The loop over one row. UnsupportedError for what `scan` has no word for: a conversion of a running value."""
    return _Text(recurrence).made()


class _Text:
    def __init__(self, recurrence: Recurrence) -> None:
        self.recurrence = recurrence
        self.states = frozenset(s.name for s in recurrence.states)
        self.names: dict[str, str] = {}
        """Name of each state in the text."""
        self.taken = {"results", *(f"results_{n}" for n in range(len(recurrence.stores)))}
        self.elements: dict[Expression, str] = {}
        self.constants: dict[Expression, str] = {}

    def made(self) -> SerialLoop:
        made = self.recurrence
        for state in made.states:
            self.names[state.name] = self.fresh(state.name.removesuffix(" before").lower())
        first = [self.text(s.initial) for s in made.states]
        steps = [self.text(s.step) for s in made.states]
        kind = "float" if made.dtype.is_float else "int"
        outputs = ["results"] if len(made.stores) == 1 else [f"results_{n}" for n in range(len(made.stores))]
        before: list[str] = []
        appended: list[str] = []
        for kept, output in zip(made.stores, outputs, strict=True):
            same = next((s for s in made.states if s.step == kept.value), None)
            if same is not None:
                appended.append(f"{output}.append({self.names[same.name]})")
                continue
            value = self.fresh("value")
            before.append(f"{value} = {self.text(kept.value)}")
            appended.append(f"{output}.append({value})")
        lists = {name: self.fresh(name.removesuffix("_i") + "s") for name in self.elements.values()}
        parameters = [f"{lists[name]}: list[{kind}]" for name in self.elements.values()]
        parameters += [f"{name}: {kind}" for name in self.constants.values()]
        names = ", ".join(self.names.values())
        each = ", ".join(self.elements.values()), ", ".join(lists.values())
        body = [*before, f"{names} = {', '.join(steps)}", *appended]
        if not lists:
            message = "expected a running result of elements, got one that reads none"
            raise UnsupportedError(Diagnostic("RUNNING", message, fix="A formula of the index needs no loop."))
        lines = [
            f"def {made.name}({', '.join(parameters)}):",
            *(f"    {name} = {value}" for name, value in zip(self.names.values(), first, strict=True)),
            *(f"    {output} = []" for output in outputs),
            f"    for {each[0]} in {each[1] if len(lists) == 1 else f'zip({each[1]})'}:",
            *(f"        {line}" for line in body),
            f"    return {', '.join(outputs)}",
        ]
        return SerialLoop(made.name, "\n".join(lines) + "\n", tuple(self.elements), tuple(self.constants))

    def fresh(self, wish: str) -> str:
        found, count = wish, 1
        while found in self.taken or keyword.iskeyword(found) or found in ("max", "min", "abs", "zip"):
            count += 1
            found = f"{wish}{count}"
        self.taken.add(found)
        return found

    def text(self, value: Expression) -> str:
        """Python; what does not depend on states is an element, or a constant."""
        match value:
            case Number(number):
                return self.number(number)
            case Scalar(parameter) if parameter.name in self.states:
                return self.names[parameter.name]
            case _ if not reads_states(value, self.states):
                moves = self.recurrence.index in indices_of(value)
                held = self.elements if moves else self.constants
                if value not in held:
                    held[value] = self.fresh(f"{_stem(value)}{'_i' if moves else ''}")
                return held[value]
            case Apply(operator=operator, operands=operands):
                return self.applied(operator, operands)
            case _:
                raise AssertionError(value)

    def number(self, value: int | float) -> str:
        found = float(value) if self.recurrence.dtype.is_float else value
        if found in (inf, -inf):
            return f"float('{found}')"
        return repr(found) if found >= 0 else f"({found!r})"

    def applied(self, operator: Operator, operands: tuple[Expression, ...]) -> str:
        match operator, operands:
            case Operator.SELECT, [mask, chosen, other]:
                return f"({self.text(chosen)} if {self.condition(mask)} else {self.text(other)})"
            case ((Operator.ADD | Operator.SUB | Operator.MUL | Operator.DIV), [left, right]):
                return f"({self.text(left)} {ROWS[operator].sign} {self.text(right)})"
            case Operator.NEG, [only]:
                return f"(-{self.text(only)})"
            case ((Operator.MAX | Operator.MIN | Operator.ABS), _):
                return f"{operator.value}({', '.join(map(self.text, operands))})"
            case _:
                message = f"expected + - * / max min abs and conditions of running values, got {operator.value}"
                raise UnsupportedError(Diagnostic("RUNNING", message, fix="Apply it to the results, in a function of its own."))

    def condition(self, mask: Expression) -> str:
        """A mask is a comparison, or made of others by choices of 0 and 1."""
        match mask:
            case Apply(operator=sign, operands=[left, right]) if sign in COMPARING:
                return f"{self.text(left)} {COMPARING[sign]} {self.text(right)}"
            case Apply(operator=Operator.SELECT, operands=[inner, Number(0), Number(1)]):
                return f"not ({self.condition(inner)})"
            case Apply(operator=Operator.SELECT, operands=[inner, other, Number(0)]):
                return f"({self.condition(inner)}) and ({self.condition(other)})"
            case Apply(operator=Operator.CAST, operands=[inner]):
                return self.condition(inner)
            case _:
                return f"{self.text(mask)} != 0"


def _stem(value: Expression) -> str:
    match value:
        case Read(array=array):
            return array.name.lower()
        case Scalar(parameter):
            return parameter.name
        case _:
            return "e"
