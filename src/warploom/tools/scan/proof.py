"""Whether the kernels that `scan emit` prints for warps and blocks are proved, from their PTX, run on symbols.

The text is compiled with the operator's functions as calls of what is only declared (`scan.emit.opaque_scan`). Every thread of a
launch is run with these functions unknown: what is stored is a term of calls, and nothing is known of them but that combining is
associative and has the identity. So each value is a list of elements, combined in order: `lift` gives one element, `combine`
the left list and then the right one, `identity` none. A kernel is proved if every result is what the loop has there: the
elements up to a place, in order, none left out, none twice. Races, barriers, undefined values and bounds are faults of the run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from warploom.core import DType, UnsupportedError, i64
from warploom.gpu import compile_to_ptx
from warploom.ptx import Program as PtxProgram
from warploom.ptx import lower, parse
from warploom.scan import Operator
from warploom.scan.emit import (
    ARCH,
    SEPARATE,
    SHARED_KERNELS,
    SIZES,
    Asked,
    Choices,
    CudaScan,
    Kernel,
    Slot,
    Types,
    cuda_scan,
    opaque_scan,
)
from warploom.scan.variants import ScanForm
from warploom.synth.compiled import (
    Argument,
    ArrayArgument,
    FaultError,
    Layout,
    Opaque,
    ScalarArgument,
    SymbolicRun,
    Undefined,
    joined_domain,
    number_of,
    run_symbolically,
)
from warploom.terms import Term, atom
from warploom.tools.command.lines import Line
from warploom.tools.command.messages import one_line
from warploom.tools.scan.functions import FunctionsProof, dtype_of, prove_functions

IN_WORDS = "functions on words of the machine as lifted, associative there in the range of the notes"
THREADS = (32, 64, 128, 1024)
_SEVERAL = 128
"""Threads up to which two blocks are run, the second one with elements missing."""
Interval = tuple[int, int]
"""The first and the last of elements that were combined in order; none: `NONE`."""
NONE: Interval = (0, -1)


Sizes: TypeAlias = Mapping[str, list[list[int]]]


@dataclass(frozen=True, slots=True)
class MovementProof:
    """`verdict` is proved, refuted or unchecked; `kernels` are those that it is about."""

    verdict: str
    kernels: tuple[Kernel, ...] = ()
    sizes: Sizes = field(default_factory=dict[str, list[list[int]]])
    """`launches` of all kernels, as threads of a block and elements; of those on cells: `cells`."""
    domain: str = ""
    reason: str = ""


class _NotSeenError(Exception):
    """A value is not seen to be elements in order."""


class _WrongError(Exception):
    """A result is another one than the loop's."""


def prove_movement(made: CudaScan, text: str | None = None, threads: Sequence[int] = THREADS) -> MovementProof:
    """The kernels for warps and blocks of a text with opaque calls (`opaque_scan`). UserError: TOOL_MISSING, CUDA_ERROR.

    text: the compiler's output, if it is at hand.
    """
    ptx = compile_to_ptx(made.source, ARCH, options=SEPARATE) if text is None else text
    program = lower(parse(ptx, "scan.ptx"))
    kernels: tuple[Kernel, ...] = tuple([k for k in made.kernels if "device" not in k])
    domains: list[str] = []
    sizes: dict[str, list[list[int]]] = {}
    for kernel in kernels:
        for block in (made.columns or 0,) if kernel in SHARED_KERNELS else threads:
            for count in _counts(block):
                done = sizes.setdefault("cells" if kernel in SHARED_KERNELS else "launches", [])
                done += [] if [block, count] in done else [[block, count]]
                launch = f"{kernel} with {block} threads and {count} elements"
                try:
                    domains += _Launch(made, program, kernel, block, count).proved()
                except (FaultError, _WrongError) as error:
                    told = error.fault.message if isinstance(error, FaultError) else str(error)
                    return MovementProof("refuted", kernels, reason=f"{launch}: {told}")
                except _NotSeenError as error:
                    return MovementProof("unchecked", kernels, reason=f"{launch}: {error}")
                except UnsupportedError as error:
                    return MovementProof("unchecked", kernels, reason=f"{launch}: {one_line(error.diagnostics[0])}")
    said = "every associative operator with an identity, its functions compiled as calls of pure functions"
    operator = made.body.operator
    if any(e.sort.base == "bool" for e in (*operator.fields, *operator.loop.fields, *operator.projection)):
        said += ", truth values as whole numbers"
    return MovementProof("proved", kernels, sizes, joined_domain([said, *domains]))


def _counts(block: int) -> list[int]:
    """Numbers of elements: one, some missing, full, and two blocks with some missing where that is not dear."""
    if block > _SEVERAL:
        return [block - 31]
    return [1, block, 2 * block - 31]


class _Launch:
    def __init__(self, made: CudaScan, program: PtxProgram, kernel: Kernel, block: int, count: int) -> None:
        self.made = made
        self.kernel: Kernel = kernel
        self.block = block
        self.count = count
        self.form: ScanForm = made.form
        self.program = program
        self.grid = -(-count // block)
        body = made.body
        self.part = 32 if "warp" in kernel else block
        self.inputs = [ArrayArgument(s.name, dtype_of(s), (count,)) for s in body.elements]
        results = -(-count // self.part) if kernel.startswith("reduce") else count
        self.outputs = [ArrayArgument(f"{s.name} stored", dtype_of(s), (results,), "undefined") for s in body.outputs]
        self.constants = [ScalarArgument(s.name, dtype_of(s), None) for s in body.constants]
        self.known: dict[tuple[Term, ...], Interval] = {}

    def proved(self) -> Sequence[str]:
        """Notes for the domain. _WrongError, _NotSeenError, FaultError, UnsupportedError."""
        value, element = _layout(self.made.body.fields), _layout(self.made.body.elements)
        constants = (_layout(self.made.body.constants),) if self.constants else ()
        functions = {
            "identity": Opaque((), value),
            "lift": Opaque((element, *constants), value),
            "combine": Opaque((value, value), value),
            "project": Opaque((value, *constants), _layout(self.made.body.outputs)),
            "outside": Opaque((value, value), value),
        }
        arguments: tuple[Argument, ...] = (*self.inputs, *self.outputs, ScalarArgument("n", i64, self.count), *self.constants)
        run = run_symbolically(self.program, self.kernel, arguments, (self.grid, 1, 1), (self.block, 1, 1), functions=functions)
        for argument in self.inputs:
            if run.written(argument):
                raise _WrongError(f"{argument.name} is an input, and stored to")
        wanted = self.wanted()
        for argument in self.outputs:
            stored = run.written(argument)
            if {*stored} != {*wanted}:
                place = min({*stored} ^ {*wanted})
                raise _WrongError(f"result {place} is {'not stored' if place in wanted else 'stored, which nothing asks for'}")
        for place, found in wanted.items():
            self.check(run, place, found)
        return [*run.notes, *run.unnamed_stores(arguments)]

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
                raise _WrongError(f"result {place} depends on the undefined value of {content.reason}")
            numbers.append(content)
        name, args = self.applied(numbers, self.made.body.outputs)
        if name != "project":
            raise _NotSeenError(f"result {place} is {_told(numbers[0])}, expected what project gives")
        fields = len(self.made.body.fields)
        self.check_constants(args[fields:])
        value = list(args[:fields])
        if self.form.is_segmented and self.kernel.endswith("exclusive"):
            outer, both = self.applied(value, self.made.body.fields)
            if outer != "outside":
                raise _WrongError(f"result {place} takes in what is before its segment")
            own = self.elements(both[fields:])
            if own != (place, place):
                raise _WrongError(f"result {place} is cut at the segment of {_named(own)}")
            value = list(both[:fields])
        found = self.elements(tuple(value))
        if found != wanted:
            raise _WrongError(f"result {place} combines {_named(found)}, expected {_named(wanted)}")

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
                raise _NotSeenError(f"a value is {_told(stack[-1][0])}, expected what lift, combine or identity gives")
        return self.known[value]

    def joined(self, left: Interval, right: Interval) -> Interval:
        if NONE in (left, right):
            return right if left == NONE else left
        # the operator of a backward scan has its operands swapped
        first, second = (right, left) if self.form.is_backward else (left, right)
        if first[1] + 1 != second[0]:
            raise _WrongError(f"{_named(second)} are combined after {_named(first)}")
        return first[0], second[1]

    def lifted(self, args: Sequence[Term]) -> Interval:
        count = len(self.inputs)
        self.check_constants(args[count:])
        first = args[0]
        index = first.data[1][0] if first.op == "atom" and len(first.data[1]) == 1 else -1
        if index not in range(self.count) or any(
            a is not atom(i.name, (index,)) for a, i in zip(args[:count], self.inputs, strict=True)
        ):
            raise _NotSeenError(f"lift takes {_told(first)}, expected an element")
        return index, index

    def check_constants(self, args: Sequence[Term]) -> None:
        if any(a is not atom(c.name, ()) for a, c in zip(args, self.constants, strict=True)):
            raise _NotSeenError("a function takes other numbers than the kernel's constants")

    def applied(self, numbers: Sequence[Term], slots: Sequence[Slot]) -> tuple[str, tuple[Term, ...]]:
        """The function that gives all these numbers as one structure, and what it takes."""
        name = numbers[0].op.partition("@")[0]
        args = numbers[0].args
        for number, (offset, _) in zip(numbers, _layout(slots), strict=True):
            same = len(number.args) == len(args) and all(a is b for a, b in zip(number.args, args, strict=True))
            if number.op != number_of(name, offset) or not same:
                raise _NotSeenError(f"a structure is put together of {_told(numbers[0])} and {_told(number)}")
        return name, tuple(args)


def _layout(slots: Sequence[Slot]) -> Layout:
    """Where C puts the members of a structure."""
    found: list[tuple[int, DType]] = []
    end = 0
    for slot in slots:
        size = SIZES["int32" if slot.scalar == "bool" else slot.scalar]
        end = -(-end // size) * size
        found.append((end, dtype_of(slot)))
        end += size
    return tuple(found)


def _told(term: Term) -> str:
    text = str(term)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _named(found: Interval) -> str:
    return "nothing" if found == NONE else f"elements {found[0]}..{found[1]}"


@dataclass(frozen=True, slots=True)
class Proof:
    """Of the kernels for warps and blocks as printed: their movement with an unknown operator, and the operator's functions."""

    movement: MovementProof
    functions: FunctionsProof

    @property
    def verdict(self) -> str:
        return "unchecked" if self.movement.verdict == "proved" and self.functions.missing else self.movement.verdict

    @property
    def reason(self) -> str:
        """Why nothing is proved of the kernels as printed."""
        if self.movement.verdict != "proved":
            return self.movement.reason
        return f"the movement is proved with an unknown operator, but {missing}" if (missing := self.functions.missing) else ""

    @property
    def fields(self) -> Line:
        """`proof`, and `proved_at` or `proof_reason`, as `explore` has them: a kernel for every size is proved at some."""
        found = self.movement
        proof: Line = {"verdict": self.verdict, "kernels": list(found.kernels)}
        if self.verdict == "proved":
            proof["domain"] = joined_domain([found.domain, IN_WORDS, self.functions.domain])
        if found.verdict == "proved":
            proof["movement"] = {"verdict": "proved", "domain": found.domain, "sizes": dict(found.sizes)}
        if self.verdict == "proved":
            return {"proof": proof, "proved_at": dict(found.sizes)}
        return {"proof": proof | {"reason": self.reason}, "proof_reason": self.reason}


def proof_of(operator: Operator, types: Types, choices: Choices, asked: Asked) -> Proof:
    """UserError: TOOL_MISSING, CUDA_ERROR."""
    moved = prove_movement(opaque_scan(operator, types, choices, asked.form, asked.cells))
    if moved.verdict != "proved":
        return Proof(moved, FunctionsProof("not looked at"))
    return Proof(moved, prove_functions(cuda_scan(operator, types, choices, form=asked.form)))
