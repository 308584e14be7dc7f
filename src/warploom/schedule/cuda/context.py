"""State of one printing: names, open loops, copies of buffers in use; registers and conditions as text."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import assert_never

from warploom.core import DType, tf32
from warploom.core.linear import Linear
from warploom.ctext import Text, binary, call, cuda_type, decimal, element, integer, literal, static_cast
from warploom.schedule.backbone import Constant, Operator, Parameter, widens
from warploom.schedule.cuda.facts import NestFacts
from warploom.schedule.cuda.indices import MOST_INT, Indices, Offset, Phase
from warploom.schedule.cuda.options import Options
from warploom.schedule.cuda.scalars import KEEPING_NAN
from warploom.schedule.nest import Argument, Guard, Load, Products, Ref

AXES = "xyz"


@dataclass(slots=True)
class Context:
    facts: NestFacts
    options: Options
    indices: Indices
    copied: Mapping[int, Load]
    """Values without registers: copied asynchronously from where this loads."""
    products: Mapping[int, Products] = field(default_factory=dict[int, Products])
    """Parts that whole warps compute, by the number of each of their outermost loops."""
    buffers: list[str] = field(default_factory=list[str])
    values: list[str] = field(default_factory=list[str])
    parameters: dict[str, str] = field(default_factory=dict[str, str])
    phases: dict[int, Phase] = field(default_factory=dict[int, Phase])
    """Phases of buffers with several copies."""
    bound: frozenset[int] = frozenset()
    """Hardware dimensions of the thread loops around."""
    helpers: set[str] = field(default_factory=set[str])
    """Device functions that the text calls."""
    scratch: list[tuple[str, DType, int, int]] = field(default_factory=list[tuple[str, DType, int, int]])
    """Shared arrays of combinations: name, type, elements, alignment in bytes."""
    vectors: set[int] = field(default_factory=set[int])
    """Buffers accessed by vectors."""
    depth: int = 0
    """Sequential loops around."""
    turns: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    """Unrolled loops around: index and size."""
    warp_mask: str | None = None
    """Name of the mask of a warp's threads, where the last warp is not full and shuffles need it."""

    def register(self, ref: Ref) -> Text:
        axes = self.facts.axes(ref.value)
        return element(Text(self.values[ref.value]), *(self.indices.text(self.indices.form(ref.at[a])) for a in axes))

    def declaration(self, value: int) -> str:
        node = self.facts.nest.values[value]
        sizes = "".join(f"[{node.axes[a].size}]" for a in self.facts.axes(value))
        return f"{cuda_type(node.dtype)} {self.values[value]}{sizes};"

    def word(self, value: int) -> str:
        return cuda_type(self.facts.nest.values[value].dtype)

    def calls(self, operator: Operator, dtype: DType) -> None:
        """Notes the device function that an operation calls, if any."""
        if dtype.is_float and operator in KEEPING_NAN:
            has_instruction = dtype.bits == 32 and self.options.has_extremes_with_nan
            self.helpers.add(f"{KEEPING_NAN[operator]}_f32" if has_instruction else KEEPING_NAN[operator])

    def argument(self, argument: Argument, dtype: DType) -> Text:
        match argument:
            case Constant(run_time=length) if length is not None:
                text = self.indices.length(length)
                return text if dtype.name == "i32" else static_cast(cuda_type(dtype), text)
            case Constant(value):
                return literal(dtype, value)
            case Parameter(name):
                return Text(self.parameters[name])
            case Ref():
                own = self.facts.nest.values[argument.value].dtype
                found = self.register(argument)
                if own is tf32 and dtype is not tf32:
                    self.helpers.add("rounded_tf32")
                    return call("rounded_tf32", found)
                return static_cast(cuda_type(dtype), found) if widens(own, dtype) else found
            case Linear():
                index = self.indices.hoisted(self.indices.form(argument), "index")
                return index if dtype.name == "i32" else static_cast(cuda_type(dtype), index)
            case _:
                assert_never(argument)

    def mentions(self, arguments: Iterable[Argument]) -> frozenset[int]:
        return frozenset(a.value for a in arguments if isinstance(a, Ref))

    def conditions(self, guards: Iterable[Guard]) -> list[Text]:
        """Tests that are not always true."""
        return [t for g in guards for t in self._guard(g)]

    def _guard(self, guard: Guard) -> list[Text]:
        form = self.indices.form(guard.index)
        if guard.run_time is None:
            return self._tests(form, guard.bound)
        text = self.indices.hoisted(form, "index")
        below = [binary(">=", text, decimal(0))] if self.indices.range(form)[0] < 0 else []
        return [*below, binary("<", text, self.indices.length(guard.run_time))]

    def _tests(self, form: Offset, bound: int) -> list[Text]:
        low, high = self.indices.range(form)
        if high < 0 or low >= bound:
            return [Text("false")]
        if low >= 0 and high < bound:
            return []
        if bound == 1 and not form.constant and len(form.terms) == 1:
            return [binary("==", self.indices.text(form), decimal(0))]
        text = self.indices.hoisted(form, "index")
        if low < 0:
            if high < bound:
                return [binary(">=", text, decimal(0))]
            if max(-low, high) > MOST_INT:
                return [binary(">=", text, decimal(0)), binary("<", text, decimal(bound))]
            return [binary("<", call("unsigned", text), integer(bound, is_signed=False))]
        return [binary("<", text, decimal(bound))]

    def lone_thread(self, forms: Iterable[Offset]) -> list[Text]:
        """Tests that leave one thread along the hardware dimensions that no thread loop around runs over, nor `forms` mention."""
        mentioned = {a[1] for f in forms for a, _ in f.terms if a[0] == "thread"}
        alone = [d for d, size in enumerate(self.facts.shape) if size > 1 and d not in self.bound and d not in mentioned]
        return [binary("==", Text(self.indices.texts["thread", d]), decimal(0)) for d in alone]

    @contextmanager
    def index(self, number: int, value: int) -> Generator[None]:
        """A loop's index is a constant inside."""
        old = self.indices.values.get(number)
        self.indices.values[number] = value
        try:
            yield
        finally:
            if old is None:
                del self.indices.values[number]
            else:
                self.indices.values[number] = old
