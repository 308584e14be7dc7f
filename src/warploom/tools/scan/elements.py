"""Reads which elements of a list a value combines, and in which order, from terms of calls of unknown functions.

`lift` gives one element, `combine` the left list and then the right one, which must be its neighbour, `identity` none.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TypeAlias

from warploom.core import DType
from warploom.scan.emit import SIZES, CudaScan, Kernel, Slot
from warploom.synth.compiled import ArrayArgument, Layout, Opaque, ScalarArgument, SymbolicRun, Undefined, number_of
from warploom.terms import Term, atom
from warploom.tools.scan.functions import dtype_of

Interval: TypeAlias = tuple[int, int]
"""The first and the last of elements that were combined in order; none: `NONE`."""
NONE: Interval = (0, -1)


class NotSeenError(Exception):
    """A value is not seen to be elements in order."""


class WrongError(Exception):
    """A result is another one than the loop's."""


class Elements:
    """One launch of a kernel: its arrays, and the reading of what it stores."""

    def __init__(self, made: CudaScan, kernel: Kernel, count: int, part: int) -> None:
        """count: of elements. part: elements that are a list of their own."""
        self.made, self.kernel, self.count, self.part, self.form = made, kernel, count, part, made.form
        body = made.body
        self.inputs = [ArrayArgument(s.name, dtype_of(s), (count,)) for s in body.arrays]
        results = -(-count // part) if kernel.startswith("reduce") else count
        self.outputs = [ArrayArgument(f"{s.name} stored", dtype_of(s), (results,), "undefined") for s in body.outputs]
        self.constants = [ScalarArgument(s.name, dtype_of(s), None) for s in body.constants]
        self.known: dict[tuple[Term, ...], Interval] = {}
        """Range of elements that each value combines: of values that were read, and of those that other blocks hand over."""

    def functions(self) -> dict[str, Opaque]:
        """The operator's functions; only what they take and give is known of them."""
        body = self.made.body
        value, element = layout_of(body.fields), layout_of(body.elements)
        constants = (layout_of(body.constants),) if self.constants else ()
        return {
            "identity": Opaque((), value),
            "lift": Opaque((element, *constants), value),
            "combine": Opaque((value, value), value),
            "project": Opaque((value, *constants), layout_of(body.outputs)),
            "outside": Opaque((value, value), value),
        }

    def check_inputs(self, run: SymbolicRun) -> None:
        """WrongError where an input was stored to."""
        for argument in self.inputs:
            if run.written(argument):
                raise WrongError(f"{argument.name} is an input, and stored to")

    def wanted(self) -> dict[int, Interval]:
        """The elements that each result combines, by its place."""
        found: dict[int, Interval] = {}
        is_exclusive = self.kernel.endswith("exclusive")
        for start in range(0, self.count, self.part):
            end = min(start + self.part, self.count)
            if self.kernel.startswith("reduce"):
                found[start // self.part] = (start, end - 1)
                continue
            for i in range(start, end):
                if self.form.is_backward:
                    first, last = (i + 1 if is_exclusive else i), end - 1
                else:
                    first, last = start, (i - 1 if is_exclusive else i)
                found[i] = (first, last) if first <= last else NONE
        return found

    def check(self, run: SymbolicRun, place: int, wanted: Interval) -> None:
        """A result's numbers are those of `project` of one value, and that value has the elements wanted."""
        numbers: list[Term] = []
        for argument in self.outputs:
            content = run.content(argument, place)
            if isinstance(content, Undefined):
                raise WrongError(f"result {place} depends on the undefined value of {content.reason}")
            numbers.append(content)
        name, args = self.applied(numbers, self.made.body.outputs)
        if name != "project":
            raise NotSeenError(f"result {place} is {told(numbers[0])}, expected what project gives")
        fields = len(self.made.body.fields)
        self.check_constants(args[fields:])
        value = list(args[:fields])
        if self.form.is_segmented and self.kernel.endswith("exclusive"):
            outer, both = self.applied(value, self.made.body.fields)
            if outer != "outside":
                raise WrongError(f"result {place} takes in what is before its segment")
            own = self.elements(both[fields:])
            if own != (place, place):
                raise WrongError(f"result {place} is cut at the segment of {named(own)}")
            value = list(both[:fields])
        found = self.elements(tuple(value))
        if found != wanted:
            raise WrongError(f"result {place} combines {named(found)}, expected {named(wanted)}")

    def elements(self, value: tuple[Term, ...]) -> Interval:
        """The elements that a value combines, in the order of the list."""
        done = self.known.get(value)
        if done is not None:
            return done
        stack = [value]
        fields = len(self.made.body.fields)
        while stack:
            name, args = self.applied(stack[-1], self.made.body.fields)
            if name == "combine":
                parts = args[:fields], args[fields:]
                missing = [p for p in parts if p not in self.known]
                if missing:
                    stack += missing
                    continue
                left, right = (self.known[p] for p in parts)
                self.known[stack.pop()] = self.joined(left, right)
            elif name == "lift":
                self.known[stack.pop()] = self.lifted(args)
            elif name == "identity":
                self.known[stack.pop()] = NONE
            else:
                raise NotSeenError(f"a value is {told(stack[-1][0])}, expected what lift, combine or identity gives")
        return self.known[value]

    def joined(self, left: Interval, right: Interval) -> Interval:
        if NONE in (left, right):
            return right if left == NONE else left
        # the operator of a backward scan has its operands swapped
        first, second = (right, left) if self.form.is_backward else (left, right)
        if first[1] + 1 != second[0]:
            raise WrongError(f"{named(second)} are combined after {named(first)}")
        return first[0], second[1]

    def lifted(self, args: Sequence[Term]) -> Interval:
        slots = self.made.body.elements
        self.check_constants(args[len(slots) :])
        first = args[0]
        index = first.data[1][0] if first.op == "atom" and len(first.data[1]) == 1 else -1
        if index not in range(self.count) or any(
            a is not (atom(s.before, (max(index - 1, 0),)) if s.before else atom(s.name, (index,)))
            for a, s in zip(args[: len(slots)], slots, strict=True)
        ):
            raise NotSeenError(f"lift takes {told(first)}, expected an element")
        return index, index

    def check_constants(self, args: Sequence[Term]) -> None:
        if any(a is not atom(c.name, ()) for a, c in zip(args, self.constants, strict=True)):
            raise NotSeenError("a function takes other numbers than the kernel's constants")

    def applied(self, numbers: Sequence[Term], slots: tuple[Slot, ...]) -> tuple[str, tuple[Term, ...]]:
        """The function that gives all these numbers as one structure, and what it takes."""
        name = numbers[0].op.partition("@")[0]
        calls = {n.args for n in numbers}
        if any(n.op != number_of(name, at) for n, at in zip(numbers, offsets_of(slots), strict=True)) or len(calls) > 1:
            raise NotSeenError(f"a structure is put together of {', '.join(map(told, numbers))}")
        (call,) = numbers[0].args
        return name, call.args


@cache
def offsets_of(slots: tuple[Slot, ...]) -> tuple[int, ...]:
    return tuple(at for at, _ in layout_of(slots))


def layout_of(slots: Sequence[Slot]) -> Layout:
    """Where C puts the members of a structure."""
    found: list[tuple[int, DType]] = []
    end = 0
    for slot in slots:
        size = SIZES["int32" if slot.scalar == "bool" else slot.scalar]
        end = -(-end // size) * size
        found.append((end, dtype_of(slot)))
        end += size
    return tuple(found)


def told(term: Term) -> str:
    text = str(term)
    return text if len(text) <= 60 else f"{text[:57]}..."


def named(found: Interval) -> str:
    return "nothing" if found == NONE else f"elements {found[0]}..{found[1]}"
