"""Whether signed 32-bit indices wrap, for every launch: sums and products that are extended to 64 bits for an address.

Here the kernel is followed without taking for granted that they do not. What is left below a sign extension, in an address or a
condition on the way there, is asked about: is there a thread that comes to the access and whose sum, over whole numbers, does not
fit? What loops count is taken to fit, as `bounds` takes it. Where the answer is not no, assumptions about the sizes are
tried under which it is; else sizes are looked for with which the last thread of a launch has such an index.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, product
from math import prod

from warploom.core.limits import tick
from warploom.core.linear import collected, variable
from warploom.ptx.launches.assumptions import Assumed, assumptions
from warploom.ptx.launches.integers import AXES, MOST_THREADS, Atom, Number, Pair, Products, constant, times
from warploom.ptx.launches.one_thread import OneThread
from warploom.ptx.launches.questions import RLIMIT, NotDecided, Place, UnclearError
from warploom.ptx.routine import Program
from warploom.ptx.simt.indices import is_extension, names_in
from warploom.ptx.symbolic import Term, evaluate, linear, signed, subterms
from warploom.ptx.syntax import Address, Name, Operand
from warploom.solve import Sat, Unsat

_QUICK_RLIMIT = 150_000
"""z3's limit for an assumption that is tried, which is enough quickly or not at all."""
_MOST_ASKED = 200
"""Questions about one kernel: seconds. Indices that come after them are open."""
_LIMIT = 1 << 31
_SIGNED = frozenset({"smin", "smax"})
_SUMS = frozenset({"sum", "product", "shl"})
_OPEN_SUMS = ("mul24.lo.", "mad24.lo.", "dp4a.", "dp2a.")
"""Functions that are sums and products as well; what they are made of is not followed."""
_HANDS_ON: frozenset[str] = frozenset({*_SUMS, *_SIGNED, "sext", "high", "ashr", "sdiv", "select"})
"""Operations whose result is wrong if a signed number that they are made of has wrapped; bits that are taken may be a hash."""


@dataclass(frozen=True, slots=True)
class Wrapping:
    """A launch whose last thread has an index that does not fit."""

    sizes: tuple[tuple[str, int], ...]
    """By their names in assumptions: `gridDim.x`, `arg3`, ..."""
    value: int
    """The index of the launch's last thread over whole numbers."""


@dataclass(frozen=True, slots=True)
class Overflow:
    """An index that may wrap."""

    instruction: int
    """The access."""
    needed: str | None
    """Assumption under which it does not; None: none of those that were tried."""
    shown: Wrapping | None
    """None: no launch was found, or the index depends on data."""


@dataclass(frozen=True, slots=True)
class Overflows:
    found: tuple[Overflow, ...]
    asked: int
    """Sums and products that were asked about."""


def overflows(program: Program, kernel: str, assumed: Sequence[Assumed] = (), rlimit: int = RLIMIT) -> Overflows | NotDecided:
    """Signed 32-bit indices that may wrap in a launch as assumed; none found: none does in any.

    UserError (PTX_LABEL, ASSUMPTION) where the kernel has no such label, parameter or array.
    """
    try:
        return _Overflows(program, program.routines[kernel], assumed, rlimit).run()
    except UnclearError as error:
        return error.found


class _Overflows(OneThread):
    _takes_indices_as_exact = False
    _left = _MOST_ASKED

    def run(self) -> Overflows:
        self._check_assumptions()
        found: list[Overflow] = []
        asked: set[tuple[Term, int]] = set()
        enough: list[str] = []
        never_negative: dict[frozenset[str], tuple[Term, ...]] = {}
        for place in self._places(of_all=True, of_every_space=True):
            conditions = (*self._emulation.path_condition(place.access.block), place.access.guard)
            bases = frozenset(o.base.text for o in self._operands(place) if isinstance(o, Address) and isinstance(o.base, Name))
            if bases not in never_negative:
                never_negative[bases] = tuple(self._never_negative(bases))
            for term in (*self._indices(place.address, *conditions), *never_negative[bases]):
                if (term, place.access.block) in asked:
                    continue
                asked.add((term, place.access.block))
                if self._fits(place, term, (), self._rlimit) or any(self._fits_if(place, term, text) for text in enough):
                    continue
                needed = next((text for text in self._tried(place, term) if self._fits_if(place, term, text)), None)
                if needed is not None:
                    enough.append(needed)
                shown = None if needed is not None else self._shown(place, term)
                found.append(Overflow(place.access.instruction, needed, shown))
        for block in self._intervals.decisions():
            last = self._emulation.graph.blocks[block].end - 1
            guard = self._routine.instructions[last].guard
            more = () if guard is None else self._indices(self._emulation.value(last, Name(guard.name)))
            if not {*more} <= {term for term, _ in asked}:
                raise UnclearError("a branch before a barrier depends on a sum that may wrap", last)
        return Overflows(tuple(found), len(asked))

    @staticmethod
    def _indices(*terms: Term) -> Iterator[Term]:
        """Sums and products that are read as signed numbers, in an address or a condition."""
        return _summed(*(part for t in terms for p in subterms(t) if p.op == "sext" or p.op in _SIGNED for part in p.args))

    def _operands(self, place: Place) -> Sequence[Operand]:
        return self._routine.instructions[place.access.instruction].operands

    def _never_negative(self, bases: frozenset[str]) -> Iterator[Term]:
        """Sums of indices that conditions on the way make numbers without a sign, so that their extension tells no sign.

        bases: the registers of addresses that the indices lead to.
        """
        for n in self._leading(bases):
            instruction, block = self._routine.instructions[n], self._emulation.graph.block_of(n)
            for source in instruction.operands[1:3] if is_extension(instruction) else ():
                word = self._emulation.value(n, source) if isinstance(source, Name) else None
                if word is None or word.width != 32:
                    continue
                parts = subterms(self._emulation.algebra(block).sext(word, 64))
                if any(p.op == "zext" and p.width == 64 and [*_summed(*p.args)] for p in parts):
                    yield from _summed(word)

    def _leading(self, bases: frozenset[str]) -> list[int]:
        """Instructions that are reached and write what the registers are made of, in order."""
        found, known = set[int](), set(bases)
        left = [*bases]
        while left:
            for n in self._writers.get(left.pop(), ()):
                found.add(n)
                for name in names_in(self._routine.instructions[n].operands[1:5]):
                    if name not in known:
                        known.add(name)
                        left.append(name)
        return sorted(found)

    @cached_property
    def _writers(self) -> dict[str, list[int]]:
        """Instructions that are reached, by the register that they write first."""
        found: dict[str, list[int]] = {}
        for n, instruction in enumerate(self._routine.instructions):
            target = next(iter(instruction.operands), None)
            if isinstance(target, Name) and self._emulation.graph.block_of(n) in self._emulation.blocks:
                found.setdefault(target.text, []).append(n)
        return found

    def _exact(self, pair: Pair, term: Term) -> Number:
        """The sum or product over whole numbers; a product of too many parts is an open number, which fits nowhere."""
        parts = linear(term)[1] if term.op == "sum" else ((term, 1),)
        total = constant(signed(linear(term)[0], term.width) if term.op == "sum" else 0)
        for part, coefficient in parts:
            value: Number = constant(1)
            for factor in part.args if part.op == "product" else (part,):
                more = None if factor.op == "shl" or _is_open(factor) else times(value, pair.signed(factor, 1))
                value = more or pair.atom(f"product {part.serial}", 1)
            total = total.plus(value, signed(coefficient, term.width))
        return total

    def _beyond(self, pair: Pair, term: Term) -> Number:
        """Requires of a thread that its index does not fit."""
        exact = self._exact(pair, term)
        above, below = pair.at_least(exact, constant(_LIMIT)), pair.at_least(constant(-_LIMIT - 1), exact)
        pair.require(pair.builder.either([above, below]))
        products = Products(pair)
        products.explain(exact)
        products.relate(exact)
        return exact

    def _fits(self, place: Place, term: Term, more: Sequence[Assumed], rlimit: int) -> bool:
        for way in self._rounds(place.access, more):
            for pair in way:
                self._beyond(pair, term)
                if not self._is_impossible(pair, rlimit):
                    break
            else:
                return True
        return False

    def _is_impossible(self, pair: Pair, rlimit: int) -> bool:
        self._left -= 1
        return self._left >= 0 and isinstance(pair.builder.check(pair.conditions, rlimit), Unsat)

    def _fits_if(self, place: Place, term: Term, text: str) -> bool:
        return self._fits(place, term, assumptions(text), _QUICK_RLIMIT)

    # what is offered

    def _named(self) -> dict[Term, str]:
        """Parameters of 32 bits that are whole numbers, by their names in assumptions."""
        short = {variable.name: f"arg{n}" for n, variable in enumerate(self._routine.parameters)}
        return {term: short[str(term.data[0])] for term in self._numbers()}

    def _tried(self, place: Place, term: Term) -> Iterator[str]:
        """Sums of sizes that bound the index, below 2^31: each part of it is a size times what some size bounds."""
        pair = self._at(place.access)
        names = {pair.value(number, 0).terms[0][0][0]: name for number, name in self._named().items()}
        grouped: dict[tuple[Atom, ...], list[tuple[tuple[Atom, ...], int]]] = {}
        exact = self._exact(pair, term)
        for monomial, coefficient in exact.terms:
            sizes = tuple(atom for atom in monomial if atom in names)
            grouped.setdefault(sizes, []).append((tuple(atom for atom in monomial if atom not in names), coefficient))
        parts: list[str] = []
        alone: list[str] = []
        for sizes, rest in sorted(grouped.items()):
            shape = " * ".join(names[atom] for atom in sizes)
            inner = collected([(m, c) for m, c in rest if m], 0)
            fixed = sum(c for m, c in rest if not m)
            step = inner.divisor or 1
            texts = [f"{step} * {text}" if step > 1 else text for text in self._most(place, term, inner, step, names)]
            if fixed > 0:
                parts.append(f"{fixed} * {shape}" if fixed > 1 else shape)
            if not inner.terms:
                continue
            if not texts:
                return
            if sizes:
                parts.append(f"{texts[0]} * {shape}")
            else:
                alone = texts
        wholes = [" + ".join(parts)] if parts else []
        if exact.constant > 0:
            parts.append(str(exact.constant))
            wholes += [" + ".join(parts)]
        wholes += [" + ".join([*parts, text]) for text in alone]
        signs = "".join(f"{names[atom]} >= 0 && " for atom in sorted({atom for sizes in grouped for atom in sizes}))
        for whole in wholes:
            yield from (f"{sign}{whole} < {_LIMIT}" for sign in dict.fromkeys(("", signs)))

    def _most(self, place: Place, term: Term, inner: Number, step: int, names: Mapping[Atom, str]) -> list[str]:
        """Sizes times `step` that the number is below."""
        found: list[str] = []
        for atom, name in names.items():
            if self._is_below(place, term, inner, variable((atom,)).scaled(step)):
                found.append(name)
        of_blocks = {a.name for monomial, _ in inner.terms for a in monomial}
        return found + [f"gridDim.{axis} * blockDim.{axis}" for axis in AXES if f"ctaid.{axis}" in of_blocks]

    def _is_below(self, place: Place, term: Term, inner: Number, size: Number) -> bool:
        """Whether a part of the index is, as far as the thread's conditions say so."""
        for way in self._rounds(place.access, ()):
            for pair in way:
                self._exact(pair, term)  # defines what the part is made of
                pair.require(pair.at_least(inner, size))
                if not self._is_impossible(pair, _QUICK_RLIMIT):
                    break
            else:
                return True
        return False

    # a thread that shows it

    def _shown(self, place: Place, term: Term) -> Wrapping | None:
        """The last thread of a launch, which some sizes of it bring there with an index that does not fit."""
        names = self._named()
        conditions = (*self._emulation.path_condition(place.access.block), place.access.guard)
        read = {str(p.data[0]) for t in (term, *conditions) for p in subterms(t) if p.op == "special"}
        extents = [
            f"{root}.{axis}"
            for root in ("ntid", "nctaid")
            for axis in AXES
            if {f"{root}.{axis}", f"{root[1:]}.{axis}"} & read or self._least(f"{root}.{axis}") > 1
        ]
        choices: list[Sequence[int]] = []
        for name in extents:
            most = (self._limits.bounds(name) or (1, 1))[1]
            choices.append(sorted({self._least(name), *(n for n in _EXTENTS if self._least(name) <= n <= most)}))
        choices += [_VALUES for _ in names]
        for picked in islice(sorted(product(*choices), key=prod), _MOST_TRIED):
            tick()
            sizes = dict(zip([*extents, *names], picked, strict=True))
            if not _is_legal(sizes, self._limits.threads_max):
                continue
            try:
                found = self._value(term, conditions, sizes)
            except _DependsError:
                return None
            if found is None or -_LIMIT <= found < _LIMIT or not all(self._holds(one, sizes, names) for one in self._assumed):
                continue
            launch = [(f"{_SIZES[name.partition('.')[0]]}.{name[-1]}", sizes[name]) for name in extents]
            return Wrapping((*launch, *((names[number], sizes[number]) for number in names)), found)
        return None

    def _least(self, extent: str) -> int:
        return (self._limits.bounds(extent) or (1, 1))[0]

    def _holds(self, one: Assumed, sizes: Mapping[str | Term, int], names: Mapping[Term, str]) -> bool:
        """Whether an assumption holds for these sizes, lengths of arrays left open."""
        pair = self._pair("block", are_different=False)
        for root in ("ntid", "nctaid"):
            for axis in AXES:
                pair.require(pair.is_zero(pair.register(f"{root}.{axis}", 0).shifted(-sizes.get(f"{root}.{axis}", 1))))
        for number in names:
            pair.require(pair.is_zero(pair.value(number, 0).shifted(-sizes[number])))
        pair.require(one.condition(pair, self._program, self._routine, self._emulation.table, self._widths))
        return isinstance(self._ask(pair), Sat)

    @staticmethod
    def _value(term: Term, conditions: Sequence[Term], sizes: Mapping[str | Term, int]) -> int | None:
        """The index of the last thread over whole numbers; None where it does not come there. _DependsError: on data."""

        def leaf(part: Term, _: tuple[int, ...]) -> int:
            name = str(part.data[0]) if part.op == "special" else ""
            root, _dot, axis = name.partition(".")
            if root in ("tid", "ctaid"):
                return sizes.get(f"n{root}.{axis}", 1) - 1
            if root in ("ntid", "nctaid"):
                return sizes.get(name, 1)
            if part in sizes:
                return sizes[part]
            raise _DependsError

        value = _whole(term, leaf)
        comes = [evaluate(condition, leaf) for condition in conditions]  # all of them: data may not matter to the first
        return value if all(comes) else None


_EXTENTS = (1, 32, 256, 65_535, 1 << 22, (1 << 28) + 1)
_VALUES: tuple[int, ...] = (1, 2, 1024, 46_341, 65_536, 1 << 20, 1 << 24, 1 << 30, (1 << 31) - 1)
"""Sizes that are tried: of blocks and grids, and of parameters."""
_MOST_TRIED = 1000
_SIZES = {"ntid": "blockDim", "nctaid": "gridDim"}


def _is_legal(sizes: Mapping[str | Term, int], threads_max: int) -> bool:
    """Whether blocks are small enough, and a launch has no more threads along an axis than proofs take it to have."""
    blocks, grid = ([sizes.get(f"{root}.{axis}", 1) for axis in AXES] for root in ("ntid", "nctaid"))
    return prod(blocks) <= threads_max and all(n * m <= MOST_THREADS for n, m in zip(blocks, grid, strict=True))


class _DependsError(Exception):
    """A value depends on more than the sizes of a launch."""


def _summed(*terms: Term) -> Iterator[Term]:
    """Sums, products and shifted words that signed numbers are made of; the products in a sum are part of it."""
    found: dict[Term, bool] = {}
    left = [(term, True) for term in terms]
    while left:
        part, is_whole = left.pop()
        if found.get(part) is not True and found.get(part) != is_whole:
            found[part] = is_whole
            left += [(p, (part.op, p.op) != ("sum", "product")) for p in part.args if p.op in _HANDS_ON or _is_open(p)]
    yield from sorted(
        (p for p, is_whole in found.items() if is_whole and p.width == 32 and (p.op in _SUMS or _is_open(p))),
        key=lambda p: p.serial,
    )


def _is_open(term: Term) -> bool:
    return term.op == "function" and str(term.data[0]).startswith(_OPEN_SUMS)


def _whole(term: Term, leaf: Callable[[Term, tuple[int, ...]], int]) -> int:
    """A sum or product over whole numbers, of signed parts."""
    total, parts = linear(term) if term.op == "sum" else (0, ((term, 1),))
    total = signed(total, term.width)
    for part, coefficient in parts:
        factors = part.args if part.op == "product" else (part,)
        total += signed(coefficient, term.width) * prod(signed(evaluate(factor, leaf), factor.width) for factor in factors)
    return total
