"""Index expressions of a generic block, and the conditions under which its threads run."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias, assert_never

import numpy as np

from warploom.core.linear import Linear, variable
from warploom.ir import (
    Builtin,
    Compare,
    HoleArg,
    HoleUse,
    IndexBinary,
    IndexConst,
    IndexExpr,
    IndexSelect,
    IndexVar,
    Kernel,
    Logical,
    SizeVar,
)
from warploom.solve import Constraint, Formula, conjunction
from warploom.synth.lift.affine import (
    Both,
    Condition,
    Extreme,
    Flags,
    Known,
    Number,
    ThreadSum,
    UnliftableError,
    both,
    compare,
    either,
    factors,
    formula_at,
    is_uniform,
    limits,
    negated,
)
from warploom.synth.lift.uniform import Uniform, uniform_form, value_of
from warploom.synth.proof.lanes import MOST_SHIFTED

IndexValue: TypeAlias = Number | Condition


class Path:
    """The threads that run, and what must hold of the symbols for them to."""

    def __init__(self, flags: Flags, conditions: tuple[Condition, ...] = (), around: Path | None = None) -> None:
        """`around`: a path with all these conditions but the last."""
        self.flags = flags
        self.conditions = conditions
        self._around = around
        self._formulas: dict[int, Formula] = {}
        self.demanded: set[tuple[str, tuple[Linear[str], ...], int]] = set()
        """Elements that threads of this path are already demanded to find inside their arrays."""

    @cached_property
    def lanes(self) -> list[int]:
        return np.flatnonzero(self.flags).tolist()

    def narrowed(self, condition: Condition) -> Path:
        """The path where `condition` holds too; its decided parts remove threads."""
        if isinstance(condition, Known):
            narrowed = Path(self.flags & condition.flags, self.conditions, self._around)
            narrowed._formulas = self._formulas
            return narrowed
        flags = self.flags
        if isinstance(condition, Both) and isinstance(decided := condition.parts[0], Known):
            flags = flags & decided.flags
        return Path(flags, (*self.conditions, condition), self)

    def outermost(self, forms: Iterable[ThreadSum]) -> Collection[int]:
        """Threads that are inside an array, at an index of these forms, only if all threads of the path are.

        Where one condition holds for all threads, their indices differ in a number only. So in each dimension the threads with
        the least and the greatest one stand for the others, which lie between them.
        """
        if not self.is_uniform or not self.lanes:
            return self.lanes
        bases = [form.base[self.lanes] for form in forms]
        return {self.lanes[position] for base in bases for position in (int(base.argmin()), int(base.argmax()))}

    def at(self, lane: int) -> Formula:
        """The conditions for one thread."""
        key = 0 if self.is_uniform else lane
        found = self._formulas.get(key)
        if found is None:
            around = () if self._around is None else (self._around.at(key),)
            last = (formula_at(c, key) for c in self.conditions[-1:])
            found = self._formulas[key] = conjunction([*around, *last])
        return found

    @cached_property
    def limits(self) -> list[ThreadSum]:
        """Sums that are 0 or less wherever the conditions hold."""
        around = self._around.limits if self._around is not None else []
        return [*around, *(form for condition in self.conditions[-1:] for form in limits(condition))]

    @cached_property
    def is_uniform(self) -> bool:
        """Whether the conditions are textually the same for all threads."""
        return all(is_uniform(c) for c in self.conditions)


@dataclass(slots=True)
class GenericIndex:
    """Values of index expressions for all threads of a generic block."""

    kernel: Kernel
    symbols_of_grid: tuple[Linear[str], Linear[str], Linear[str]]
    """Block numbers: a symbol each, or the constant 0."""
    facts: list[Constraint] = field(default_factory=list[Constraint])
    """Facts about the symbols: quotients of sizes."""
    natural: list[str] = field(default_factory=list[str])
    """Symbols that are never negative where they count: block numbers, and loop symbols that start at 0 or later."""
    _variables: dict[str, tuple[IndexValue, tuple[Condition, ...]]] = field(
        default_factory=dict[str, tuple[IndexValue, tuple[Condition, ...]]]
    )
    _threads: dict[int, ThreadSum] = field(default_factory=dict[int, ThreadSum])
    quotients: dict[tuple[Linear[str], int], Linear[str]] = field(default_factory=dict[tuple[Linear[str], int], Linear[str]])
    """The symbol of each `linear // d`, inner ones before those that hold them."""
    _loops: int = 0
    _symbols: dict[tuple[tuple[str, ...], str, str], str] = field(default_factory=dict[tuple[tuple[str, ...], str, str], str])
    """Symbols of the loops over sizes, by the loops around them and their bounds."""
    _carried: set[str] = field(default_factory=set[str])
    """Variables whose value comes from an earlier iteration of a loop over a size, or is its last one."""
    _uniform: dict[str, Linear[str]] = field(default_factory=dict[str, Linear[str]])
    """Variables that are known to be the same for all threads."""
    _forms: dict[int, tuple[IndexExpr, Uniform | None]] = field(default_factory=dict[int, "tuple[IndexExpr, Uniform | None]"])
    """By identity of the expression, which is kept alive beside it: hashing an expression takes longer than evaluating it."""
    _constants: dict[int, ThreadSum] = field(default_factory=dict[int, ThreadSum])

    def __post_init__(self) -> None:
        numbers = np.arange(self.kernel.threads, dtype=np.int64)
        x, y, _ = self.kernel.block
        for axis, values in enumerate((numbers % x, numbers // x % y, numbers // (x * y))):
            self._threads[axis] = ThreadSum(values)

    # ------------------------------------------------------------ variables

    def assign(self, name: str, value: IndexValue, path: Path) -> None:
        """Sets a variable for the threads of the path, others keep its old value; under conditions it holds only there."""
        self._carried.discard(name)
        if name in self._variables and not path.flags.all():
            value = self._kept(self._variable(name, path), value, path.flags)
        self._variables[name] = (value, path.conditions)
        linear = value.linear if isinstance(value, ThreadSum) else None
        if linear is not None:
            self._uniform[name] = linear
        else:
            self._uniform.pop(name, None)

    def _kept(self, old: IndexValue, new: IndexValue, flags: Flags) -> IndexValue:
        """`new` for the threads of `flags`, `old` for all others."""
        here, elsewhere = Known(flags), Known(~flags)
        if isinstance(old, ThreadSum | Extreme | tuple) and isinstance(new, ThreadSum | Extreme | tuple):
            return self._joined([(here, new), (elsewhere, old)])
        if isinstance(old, ThreadSum | Extreme | tuple) or isinstance(new, ThreadSum | Extreme | tuple):
            raise UnliftableError("an index variable that is a number in some threads and a condition in others")
        return either([both([here, new]), both([elsewhere, old])])

    def count(self, name: str, number: int, path: Path) -> None:
        """Sets the variable of a loop over constants."""
        self._carried.discard(name)
        self._variables[name] = (self._constant_form(number), path.conditions)
        self._uniform[name] = Linear((), number)

    def forget(self, names: Iterable[str]) -> None:
        """Variables that have no value known here until they are set again."""
        self._carried.update(names)

    def bound(self, expr: IndexExpr, path: Path) -> ThreadSum | Extreme:
        """A loop bound: a form, or the least or greatest of some."""
        value = self.evaluate(expr, path)
        return value if isinstance(value, Extreme) else self.form(expr, path)

    def iteration(
        self, name: str, outer: tuple[str, ...], start: ThreadSum | Extreme, stop: ThreadSum | Extreme, path: Path
    ) -> tuple[str, Path]:
        """The symbol of a loop over a size, and the path on which it is in range; `outer`: symbols of the loops around it.

        Loops with the same bounds, one after the other, share their symbol: they count as one loop with both bodies. That is
        right where no element is stored in two iterations and none is read in another iteration than it is stored in, which
        are conditions of the lift for a single loop, too.
        """
        key = (outer, _text_of(start), _text_of(stop))
        symbol = self._symbols.get(key)
        if symbol is None:
            symbol = self._symbols[key] = f"{name}@{self._loops}"
            self._loops += 1
        self._carried.discard(name)
        here = self._constant_form(0).plus(ThreadSum(np.zeros(self.kernel.threads, dtype=np.int64), ((symbol, 1),)))
        self._variables[name] = (here, path.conditions)
        self._uniform[name] = variable(symbol)
        if (
            isinstance(start, ThreadSum)
            and (start.base >= 0).all()
            and all(c > 0 and n in (*self.kernel.sizes, *self.natural) for n, c in start.terms)
        ):
            self.natural.append(symbol)
        return symbol, path.narrowed(compare(">=", here, start)).narrowed(compare("<", here, stop))

    # ------------------------------------------------------------ expressions

    def size_form(self, expr: IndexExpr) -> Linear[str]:
        """An extent over sizes."""
        form = self.form(expr, Path(np.ones(self.kernel.threads, dtype=bool))).linear
        assert form is not None, "extents are the same for all threads"
        return form

    def form(self, expr: IndexExpr, path: Path) -> ThreadSum:
        value = self.evaluate(expr, path)
        if isinstance(value, ThreadSum):
            return value
        if isinstance(value, tuple | Extreme):
            raise UnliftableError("an index that is a minimum, maximum or choice depending on a block number or a size")
        if isinstance(value, Known):
            return ThreadSum(value.flags.astype(np.int64))
        raise UnliftableError("a condition on a block number or a size used as a number")

    def uniform(self, expr: IndexExpr, path: Path) -> Linear[str] | None:
        """The value where it is seen to be one linear form for all threads, without evaluating it per thread."""
        found = self._forms.get(id(expr))
        if found is None:
            found = self._forms[id(expr)] = (expr, uniform_form(expr))
        form = found[1]
        if form is None:
            return None
        for atom, _ in form.terms:
            if isinstance(atom, IndexVar):
                self._variable(atom.name, path)
        return value_of(form, self._uniform)

    def condition(self, expr: IndexExpr, path: Path) -> Condition:
        value = self.evaluate(expr, path)
        match value:
            case ThreadSum():
                return negated(compare("==", value, self._constant_form(0)))
            case tuple() | Extreme():
                cases = value.cases() if isinstance(value, Extreme) else value
                return either(both([c, negated(compare("==", f, self._constant_form(0)))]) for c, f in cases)
            case _:
                return value

    def is_seen_between(self, form: ThreadSum, stop: Linear[str], path: Path) -> bool:
        """Whether the constants of the path, or one of its conditions, put 0 <= form < stop in all its threads."""
        below = form.plus(self._spread(stop.shifted(-1)), -1)
        above = ThreadSum(-form.base, tuple((name, -c) for name, c in form.terms))
        return self._is_seen_negative(above, path) and self._is_seen_negative(below, path)

    def _is_seen_negative(self, goal: ThreadSum, path: Path) -> bool:
        """Whether `goal` is 0 or less in all threads of the path, as `Conditions.is_seen` sees it for one of them."""
        wanted = dict(goal.terms)
        rests = (goal.plus(known, -f) for known in path.limits for f in factors(wanted, known.terms))
        natural = {*self.kernel.sizes, *self.natural}
        return any(
            all(c < 0 and name in natural for name, c in rest.terms) and bool((rest.base[path.lanes] <= 0).all())
            for rest in (goal, *rests)
        )

    def at_most(self, a: Linear[str], b: Linear[str]) -> Formula:
        """`a <= b`."""
        return conjunction([Constraint(a.plus(b, -1))])

    def evaluate(self, expr: IndexExpr, path: Path) -> IndexValue:
        """The value of `expr` for the threads of `path`; others may hold anything."""
        match expr:
            case IndexConst(value):
                return Known(np.full(self.kernel.threads, value)) if isinstance(value, bool) else self._constant_form(value)
            case IndexVar(name):
                return self._variable(name, path)
            case Builtin(name, axis):
                return self._builtin(name, axis, path)
            case SizeVar(name):
                return self._spread(variable(name))
            case IndexBinary(op, lhs, rhs):
                return self._binary(op, self._numbers(lhs, path), self._numbers(rhs, path), path)
            case Compare(op, lhs, rhs):
                return compare(op, self._numbers(lhs, path), self._numbers(rhs, path))
            case Logical("not", operands):
                return negated(self.condition(operands[0], path))
            case Logical(op, operands):
                return self._logical(op, operands, path)
            case IndexSelect(cond, then, other):
                return self._choice(self.condition(cond, path), then, other, path)
            case HoleUse() | HoleArg():
                raise UnliftableError("a hole that is still open")
            case _:
                assert_never(expr)

    def _builtin(self, name: str, axis: int, path: Path) -> IndexValue:
        match name:
            case "thread_id":
                return self._threads[axis]
            case "block_id":
                return self._spread(self.symbols_of_grid[axis])
            case "block_dim":
                return self._constant_form(self.kernel.block[axis])
            case _:
                return self.evaluate(self.kernel.grid[axis], path)

    def _constant_form(self, value: int) -> ThreadSum:
        found = self._constants.get(value)
        if found is None:
            found = self._constants[value] = ThreadSum(np.full(self.kernel.threads, value, dtype=np.int64))
        return found

    def _spread(self, linear: Linear[str]) -> ThreadSum:
        return ThreadSum(np.full(self.kernel.threads, linear.constant, dtype=np.int64), tuple(sorted(linear.terms)))

    def _variable(self, name: str, path: Path) -> IndexValue:
        if name in self._carried:
            raise UnliftableError(f"{name} holds what an earlier iteration of a loop over a size left there")
        value, conditions = self._variables[name]
        if not is_prefix(conditions, path.conditions):
            raise UnliftableError(f"index variable {name} is used outside of the condition it was set under")
        if isinstance(value, tuple):
            here = [(c, f) for c, f in value if not isinstance(c, Known) or (c.flags & path.flags).any()]
            return here[0][1] if len(here) == 1 else tuple(here)
        return value

    def _numbers(self, expr: IndexExpr, path: Path) -> Number:
        value = self.evaluate(expr, path)
        if isinstance(value, ThreadSum | Extreme | tuple):
            return value
        if isinstance(value, Known):
            return ThreadSum(value.flags.astype(np.int64))
        return ((value, self._constant_form(1)), (negated(value), self._constant_form(0)))

    def _logical(self, op: str, operands: tuple[IndexExpr, ...], path: Path) -> Condition:
        """Operands after a decided one are evaluated only where they matter, as Python does."""
        parts: list[Condition] = []
        for operand in operands:
            if not path.lanes:
                break
            part = self.condition(operand, path)
            parts.append(part)
            if isinstance(part, Known):
                path = path.narrowed(part if op == "and" else negated(part))
        return both(parts) if op == "and" else either(parts)

    def _choice(self, condition: Condition, then: IndexExpr, other: IndexExpr, path: Path) -> IndexValue:
        inside, outside = path.narrowed(condition), path.narrowed(negated(condition))
        if not inside.lanes:
            return self._numbers(other, outside)
        if not outside.lanes:
            return self._numbers(then, inside)
        a, b = self._numbers(then, inside), self._numbers(other, outside)
        return self._joined([(condition, a), (negated(condition), b)])

    def _joined(self, choices: list[tuple[Condition, Number]]) -> Number:
        """Guarded values as one form where the guards are decided and the symbols agree, else as cases."""
        flat: list[tuple[Condition, ThreadSum]] = []
        for guard, value in choices:
            cases = value.cases() if isinstance(value, Extreme) else value
            flat += [(guard, cases)] if isinstance(cases, ThreadSum) else [(both([guard, c]), f) for c, f in cases]
        if all(isinstance(g, Known) for g, _ in flat) and len({f.terms for _, f in flat}) == 1:
            base = flat[-1][1].base
            for guard, form in flat[:-1]:
                assert isinstance(guard, Known)
                base = np.where(guard.flags, form.base, base)
            return ThreadSum(base, flat[0][1].terms)
        return tuple(flat)

    # ------------------------------------------------------------ arithmetic

    def _binary(self, op: str, a: Number, b: Number, path: Path) -> Number:
        if op in ("min", "max"):
            return self._extreme(op == "max", a, b)
        if isinstance(a, Extreme) and isinstance(b, ThreadSum) and op in ("+", "-"):
            return Extreme(tuple(f.plus(b, 1 if op == "+" else -1) for f in a.forms), a.is_max)
        if isinstance(b, Extreme) and isinstance(a, ThreadSum) and op in ("+", "-"):
            return Extreme(tuple(a.plus(f, 1 if op == "+" else -1) for f in b.forms), b.is_max == (op == "+"))
        if not isinstance(a, ThreadSum):
            cases = a.cases() if isinstance(a, Extreme) else a
            return self._joined([(c, self._binary(op, f, b, path)) for c, f in cases])
        if not isinstance(b, ThreadSum):
            cases = b.cases() if isinstance(b, Extreme) else b
            return self._joined([(c, self._binary(op, a, f, path)) for c, f in cases])
        match op:
            case "+":
                return a.plus(b)
            case "-":
                return a.plus(b, -1)
            case "*":
                return self._product(a, b)
            case "//" | "%":
                return self._divided(op, a, b, path)
            case "<<" if not b.terms and (b.base == b.base[0]).all() and 0 <= b.base[0] < 62:
                return self._product(a, self._constant_form(1 << int(b.base[0])))
            case ">>" if not b.terms and (b.base == b.base[0]).all() and 0 <= b.base[0] < 62:
                return self._divided("//", a, self._constant_form(1 << int(b.base[0])), path)
            case "&" if a.terms and not b.terms and _is_mask(b):
                return self._divided("%", a, self._constant_form(int(b.base[0]) + 1), path)
            case _:
                if a.terms or b.terms:
                    raise UnliftableError(f"`{op}` of a block number or a size")
                if op in ("<<", ">>") and (bad := path.flags & ((b.base < 0) | (b.base > MOST_SHIFTED))).any():
                    raise UnliftableError(f"a shift by {b.base[bad][0]}")
                return ThreadSum(_bitwise(op, a, b))

    def _extreme(self, is_max: bool, a: Number, b: Number) -> Number:
        forms: list[ThreadSum] = []
        for value in (a, b):
            if isinstance(value, ThreadSum):
                forms.append(value)
            elif isinstance(value, Extreme) and value.is_max == is_max:
                forms += value.forms
            else:
                op = ">=" if is_max else "<="
                first = compare(op, a, b)
                return self._joined([(first, a), (negated(first), b)])
        return _tightest(forms, is_max)

    def _product(self, a: ThreadSum, b: ThreadSum) -> ThreadSum:
        if b.terms:
            a, b = b, a
        if not a.terms:
            return ThreadSum(a.base * b.base)
        if b.terms or not (b.base == b.base[0]).all():
            raise UnliftableError("a product of block numbers and sizes, or of one with a thread's number")
        factor = int(b.base[0])
        return ThreadSum(a.base * factor, tuple((s, c * factor) for s, c in a.terms) if factor else ())

    def _divided(self, op: str, a: ThreadSum, b: ThreadSum, path: Path) -> ThreadSum:
        if b.terms:
            raise UnliftableError(f"`{op}` by a block number or a size")
        if (path.flags & (b.base == 0)).any():
            raise UnliftableError(f"`{op}` by zero")
        divisor = np.where(b.base == 0, 1, b.base)
        if not a.terms:
            return ThreadSum(a.base // divisor if op == "//" else a.base % divisor)
        if not (divisor == divisor[0]).all():
            raise UnliftableError(f"`{op}` of a block number or a size by a number that differs between threads")
        d = int(divisor[0])
        if all(c % d == 0 for _, c in a.terms):
            if op == "%":
                return ThreadSum(a.base % d)
            return ThreadSum(a.base // d, tuple((s, c // d) for s, c in a.terms))
        linear = a.linear
        if linear is None or d < 0:
            raise UnliftableError(f"`{op} {d}` of {a.at(0)}, which is not a multiple of it plus a thread's number")
        quotient = self._spread(self._quotient(linear, d))
        return quotient if op == "//" else a.plus(self._product(quotient, self._constant_form(d)), -1)

    def _quotient(self, linear: Linear[str], d: int) -> Linear[str]:
        """A symbol for `linear // d`, d > 0, with what defines it."""
        found = self.quotients.get((linear, d))
        if found is None:
            found = self.quotients[linear, d] = variable(f"({linear})//{d}")
            self.facts.append(Constraint(found.scaled(d).plus(linear, -1)))
            self.facts.append(Constraint(linear.plus(found, -d).shifted(1 - d)))
        return found


def _text_of(bound: ThreadSum | Extreme) -> str:
    """Equal for equal bounds that are the same for all threads."""
    if isinstance(bound, ThreadSum):
        return str(bound.at(0))
    return f"{'max' if bound.is_max else 'min'}({', '.join(sorted(str(f.at(0)) for f in bound.forms))})"


def _tightest(forms: list[ThreadSum], is_max: bool) -> ThreadSum | Extreme:
    """Forms that differ by constants only are one form."""
    by_symbols: dict[tuple[tuple[str, int], ...], ThreadSum] = {}
    for form in forms:
        old = by_symbols.get(form.terms)
        if old is not None:
            form = ThreadSum((np.maximum if is_max else np.minimum)(old.base, form.base), form.terms)
        by_symbols[form.terms] = form
    kept = tuple(by_symbols.values())
    return kept[0] if len(kept) == 1 else Extreme(kept, is_max)


def is_prefix(first: tuple[Condition, ...], second: tuple[Condition, ...]) -> bool:
    """Whether a path with the second conditions runs only where one with the first does."""
    return first is second or first == second[: len(first)]  # conditions compare by identity


def _is_mask(form: ThreadSum) -> bool:
    value = int(form.base[0])
    return bool((form.base == value).all()) and value >= 0 and value & (value + 1) == 0


def _bitwise(op: str, a: ThreadSum, b: ThreadSum) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    match op:
        case "&":
            return a.base & b.base
        case "|":
            return a.base | b.base
        case "^":
            return a.base ^ b.base
        case "<<":
            return a.base << np.clip(b.base, 0, MOST_SHIFTED)
        case _:
            assert op == ">>"
            return a.base >> np.clip(b.base, 0, MOST_SHIFTED)
