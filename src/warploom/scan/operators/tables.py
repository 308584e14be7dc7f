"""Normal forms by regions: thresholds on the same slope in ascending order, one leaf for every combination of regions.

A tree whose thresholds have an unknown order is split into cases by that order; within a case, neighbouring regions with equal
leaves are one region; the cases are then laid on top of each other. So `s >= a and s >= b` becomes `s >= max(a, b)`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cmp_to_key, lru_cache
from typing import TypeAlias, cast

from warploom.scan.operators import expression as ex
from warploom.scan.operators.alignment import Aligner, Combine
from warploom.scan.operators.expression import Expr
from warploom.scan.operators.forms import (
    TOO_MANY_CASES,
    Atom,
    Branch,
    Flag,
    FormError,
    Given,
    Leaf,
    Number,
    Plain,
    Slope,
    Term,
    Threshold,
    Tree,
    Work,
    leaves,
    number,
    slope_of,
    tree_expr,
)

MAX_REGIONS = 256
MAX_SPLITS = 12
"""Depth of case splits."""

AxisKey: TypeAlias = "Expr | tuple[Slope, bool]"
"""A truth-valued state, or a slope and whether its thresholds are strict."""
Region: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """Leaves by region; along a slope, region n lies above n of its bounds; of a flag, 1 is true. None: the region is empty."""

    axes: tuple[tuple[AxisKey, tuple[Expr, ...]], ...]
    leaves: Mapping[Region, Leaf | None]

    def tree(self) -> Tree:
        """Raises FormError if every region is empty."""
        found = self._tree(())
        if found is None:
            raise FormError("no region that is not empty")
        return found

    def expr(self) -> Expr:
        return tree_expr(self.tree())

    def _tree(self, region: Region) -> Tree | None:
        """None: all of it is empty, so that any other value will do."""
        if len(region) == len(self.axes):
            return self.leaves[region]
        key, bounds = self.axes[len(region)]
        result = self._tree((*region, 0))
        atoms: list[Atom] = [Flag(key)] if isinstance(key, Expr) else [Threshold(key[0], b, key[1]) for b in bounds]
        for below, atom in enumerate(atoms):
            above = self._tree((*region, below + 1))
            result = above if result is None else result if above is None else _branch(atom, above, result)
        return result

    def coefficients(self) -> list[Expr]:
        found = [b for _, bounds in self.axes for b in bounds]
        for leaf in self.leaves.values():
            found += leaf_coefficients(leaf) if leaf is not None else []
        return found

    def replaced(self, values: Mapping[Expr, Expr]) -> Table:
        """Coefficients with sub-expressions replaced."""
        memory: dict[Expr, Expr] = {}
        axes = tuple((k, tuple(ex.substituted(b, values, memory) for b in bounds)) for k, bounds in self.axes)
        return Table(axes, {r: None if leaf is None else leaf_replaced(leaf, values, memory) for r, leaf in self.leaves.items()})


def _branch(atom: Atom, then: Tree, otherwise: Tree) -> Tree:
    return then if then == otherwise else Branch(atom, then, otherwise)


def leaf_coefficients(leaf: Leaf) -> list[Expr]:
    if isinstance(leaf, Plain):
        return [leaf.value]
    return [e for c in leaf.clauses for t in c for e in (t.offset, *(f for _, f in t.slope.parts))]


def leaf_replaced(leaf: Leaf, values: Mapping[Expr, Expr], memory: dict[Expr, Expr]) -> Leaf:
    if isinstance(leaf, Plain):
        return Plain(ex.substituted(leaf.value, values, memory))
    return Number(
        tuple(
            tuple(
                Term(
                    slope_of({m: ex.substituted(c, values, memory) for m, c in t.slope.parts}),
                    ex.substituted(t.offset, values, memory),
                )
                for t in clause
            )
            for clause in leaf.clauses
        )
    )


class Tabulator:
    """Trees to tables, in one style; with `endless`, a threshold that one case lacks is an infinite one there, if that says the
    same, and else one that makes no difference."""

    def __init__(self, aligner: Aligner, *, endless: bool = False) -> None:
        self._endless = endless
        self.work = Work()
        self._aligner = aligner
        self._facts: dict[Expr, Expr] = {}

    def assume(self, facts: Iterable[Expr]) -> None:
        """Comparisons to be taken for true from now on."""
        for fact in facts:
            self._facts[_atom_of(fact)] = ex.FALSE if fact.op == "not" else ex.TRUE

    def table(self, tree: Tree) -> Table:
        """Raises FormError if there are too many regions or cases."""
        if self._facts:
            tree = tree_replaced(tree, self._facts)
        return self._table(tree, self._facts, 0)

    def _table(self, tree: Tree, decided: Mapping[Expr, Expr], depth: int) -> Table:
        self.work.spend(len(leaves(tree)))
        given = _given(tree)
        if given is not None:
            return self._cases(tree, decided, depth, given.condition, {})
        bounds = _bounds(tree)
        for found in bounds.values():
            for first, second in itertools.combinations(found, 2):
                if _order(first, second, decided) is None:
                    return self._split(tree, decided, depth, first, second)
        ordered = {k: tuple(sorted(b, key=cmp_to_key(lambda x, y: _compare(x, y, decided)))) for k, b in bounds.items()}
        table = _pruned(_known_values(_regions(tree, ordered)))
        return _absorbed(table) if self._endless else table

    def _split(self, tree: Tree, decided: Mapping[Expr, Expr], depth: int, first: Expr, second: Expr) -> Table:
        used = {e for c in _tree_coefficients(tree) for e in ex.subexpressions(c)}
        questions = [_atom_of(ex.at_least(first, second)), _atom_of(ex.more_than(first, second))]
        question = next((q for q in questions if q in used), questions[0])
        orders: dict[Expr, dict[Expr, Expr]] = {}
        for answer in (ex.TRUE, ex.FALSE):
            greater, lesser = (first, second) if _order(first, second, {**decided, question: answer}) == 1 else (second, first)
            orders[answer] = {ex.maximum(first, second): greater, ex.minimum(first, second): lesser}
        return self._cases(tree, decided, depth, question, orders)

    def _cases(
        self, tree: Tree, decided: Mapping[Expr, Expr], depth: int, question: Expr, more: Mapping[Expr, Mapping[Expr, Expr]]
    ) -> Table:
        """By the answer of a question without states; `more` is what else follows from each answer."""
        if depth >= MAX_SPLITS:
            raise FormError(f"{TOO_MANY_CASES} of the coefficients")
        cases: list[Table] = []
        for answer in (ex.TRUE, ex.FALSE):
            values = {**more.get(answer, {}), question: answer}
            cases.append(self._table(tree_replaced(tree, values), {**decided, question: answer}, depth + 1))
        return self.overlaid(cases[0], cases[1], lambda a, b, _: ex.select(question, a, b))

    def overlaid(self, left: Table, right: Table, combine: Combine) -> Table:
        """Both on the union of their axes, each coefficient combined; raises FormError if their leaves cannot have one shape."""
        keys = [k for k, _ in left.axes] + [k for k, _ in right.axes if k not in dict(left.axes)]
        if self._endless:
            left, right = _with_endless(left, right), _with_endless(right, left)
        left, right = _with_axes(left, keys, dict(right.axes)), _with_axes(right, keys, dict(left.axes))
        for position in range(len(keys)):
            left, right = _levelled(left, right, position)
        axes = tuple(
            (k, tuple(combine(x, y, "bound") for x, y in zip(a, b, strict=True)))
            for (k, a), (_, b) in zip(left.axes, right.axes, strict=True)
        )
        leaves: dict[Region, Leaf | None] = {}
        for region, one in left.leaves.items():
            other = right.leaves[region]
            # An empty region takes the leaf of the other side.
            first, second = one or other, other or one
            leaves[region] = None if first is None or second is None else self._aligner.leaf(first, second, combine)
        return Table(axes, leaves)

    def merge(self, test: Expr, then: Leaf, otherwise: Leaf) -> Leaf:
        """One leaf for `then if test else otherwise`."""
        return self._aligner.leaf(then, otherwise, lambda a, b, _: ex.select(test, a, b))


def tree_replaced(tree: Tree, values: Mapping[Expr, Expr]) -> Tree:
    memory: dict[Expr, Expr] = {}

    def replaced(node: Tree) -> Tree:
        match node:
            case Branch(atom, then, otherwise):
                if isinstance(atom, Threshold):
                    atom = Threshold(atom.slope, ex.substituted(atom.bound, values, memory), atom.strict)
                if isinstance(atom, Given):
                    condition = ex.substituted(atom.condition, values, memory)
                    if condition.op == "const":
                        return replaced(then if condition is ex.TRUE else otherwise)
                    atom = Given(condition)
                return _branch(atom, replaced(then), replaced(otherwise))
            case _:
                return leaf_replaced(node, values, memory)

    return replaced(tree)


def _tree_coefficients(tree: Tree) -> list[Expr]:
    match tree:
        case Branch(atom, then, otherwise):
            own = [atom.bound] if isinstance(atom, Threshold) else [atom.condition] if isinstance(atom, Given) else []
            return own + _tree_coefficients(then) + _tree_coefficients(otherwise)
        case _:
            return leaf_coefficients(tree)


def _given(tree: Tree) -> Given | None:
    """The first condition without states, a comparison if it is a combination of such."""
    if not isinstance(tree, Branch):
        return None
    if isinstance(tree.atom, Given):
        parts = [p for p in ex.subexpressions(tree.atom.condition) if p.op in ("ge", "gt", "eq")]
        flags = [p for p in ex.subexpressions(tree.atom.condition) if p.op == "var" and p.sort.base == "bool"]
        return Given((parts + flags + [tree.atom.condition])[0])
    return _given(tree.then) or _given(tree.otherwise)


def _atom_of(condition: Expr) -> Expr:
    return condition.args[0] if condition.op == "not" else condition


def _order(first: Expr, second: Expr, decided: Mapping[Expr, Expr]) -> int | None:
    """1 if `first >= second` is known, -1 if `second >= first` is."""
    if first is second:
        return 1
    for sign, atom, holds in _questions(first, second):
        if atom is ex.TRUE:
            if holds:
                return sign
        elif atom in decided and (decided[atom] is ex.TRUE) == holds:
            return sign
    return None


@lru_cache(maxsize=50_000)
def _questions(first: Expr, second: Expr) -> tuple[tuple[int, Expr, bool], ...]:
    """Comparisons that decide the order: (the order, the comparison, whether it has to hold); TRUE for what always holds."""
    found: list[tuple[int, Expr, bool]] = []
    for sign, x, y in ((1, first, second), (-1, second, first)):
        for condition in (ex.at_least(x, y), ex.more_than(x, y)):
            atom = _atom_of(condition)
            if condition is not ex.FALSE:
                found.append((sign, atom, condition is atom))
    return tuple(found)


def _compare(first: Expr, second: Expr, decided: Mapping[Expr, Expr]) -> int:
    order = _order(first, second, decided)
    return 0 if first is second or order is None else order


def _bounds(tree: Tree) -> dict[AxisKey, list[Expr]]:
    found: dict[AxisKey, list[Expr]] = {}

    def visit(node: Tree) -> None:
        if isinstance(node, Branch):
            if isinstance(node.atom, Flag):
                found.setdefault(node.atom.state, [])
            elif isinstance(node.atom, Threshold):
                bounds = found.setdefault((node.atom.slope, node.atom.strict), [])
                if node.atom.bound not in bounds:
                    bounds.append(node.atom.bound)
            visit(node.then)
            visit(node.otherwise)

    visit(tree)
    return dict(sorted(found.items(), key=lambda t: _axis_order(t[0])))


def _axis_order(key: AxisKey) -> tuple[object, ...]:
    return (0, key.order) if isinstance(key, Expr) else (1, len(key[0].parts), key[0].key(), key[1])


def _regions(tree: Tree, ordered: Mapping[AxisKey, tuple[Expr, ...]]) -> Table:
    sizes = [2 if isinstance(k, Expr) else len(b) + 1 for k, b in ordered.items()]
    total = 1
    for size in sizes:
        total *= size
    if total > MAX_REGIONS:
        raise FormError("too many regions")
    positions = {k: n for n, k in enumerate(ordered)}
    leaves: dict[Region, Leaf | None] = {}
    for region in itertools.product(*(range(s) for s in sizes)):
        node = tree
        while isinstance(node, Branch):
            match node.atom:
                case Flag(state):
                    holds = region[positions[state]] == 1
                case Threshold(slope, bound, strict):
                    key = (slope, strict)
                    holds = region[positions[key]] > ordered[key].index(bound)
                case Given():
                    raise AssertionError("conditions without states are split before")
            node = node.then if holds else node.otherwise
        leaves[region] = node
    return Table(tuple(ordered.items()), leaves)


def _known_values(table: Table) -> Table:
    """A state with few values is a number in a region that leaves it only one."""
    leaves_by_region = dict(table.leaves)
    for position, (key, bounds) in enumerate(table.axes):
        if not _is_few(key) or isinstance(key, Expr) or any(b.op != "const" for b in bounds):
            continue
        state = key[0].parts[0][0][0]
        assert state.sort.values is not None
        limits = [cast(float, b.value) for b in bounds]
        by_level: dict[int, list[int]] = {}
        for value in state.sort.values:
            by_level.setdefault(sum(1 for limit in limits if value >= limit), []).append(value)
        for region, leaf in leaves_by_region.items():
            values = by_level.get(region[position], [])
            if len(values) == 1 and isinstance(leaf, Number):
                leaves_by_region[region] = _with_value(leaf, state, values[0])
    return Table(table.axes, leaves_by_region)


def _with_value(leaf: Number, state: Expr, value: int) -> Number:
    clauses: list[list[Term]] = []
    for clause in leaf.clauses:
        terms: list[Term] = []
        for term in clause:
            factor = dict(term.slope.parts).get((state,))
            if factor is None:
                terms.append(term)
                continue
            rest = slope_of({m: c for m, c in term.slope.parts if m != (state,)})
            terms.append(Term(rest, ex.add(term.offset, ex.multiply(factor, ex.constant(value)))))
        clauses.append(terms)
    return number(clauses)


def _pruned(table: Table) -> Table:
    """The table without bounds and axes that make no difference."""
    changed = True
    while changed:
        changed = False
        for position, (key, bounds) in enumerate(table.axes):
            size = 2 if isinstance(key, Expr) else len(bounds) + 1
            for level in range(size - 1):
                pairs = [
                    (leaf, table.leaves[(*r[:position], level + 1, *r[position + 1 :])])
                    for r, leaf in table.leaves.items()
                    if r[position] == level
                ]
                if all(a == b for a, b in pairs):
                    table = _without(table, position, level)
                    changed = True
                    break
            if changed:
                break
    return table


def _absorbed(table: Table) -> Table:
    """`s < b and p`, with p without states, as `s < (b if p else -inf)`: thresholds take up the truth values next to them."""
    table = _between(table)
    for position, (key, bounds) in enumerate(table.axes):
        if isinstance(key, Expr):
            continue
        for level, beyond, bound in ((0, 1, ex.MINUS_INFINITY), (len(bounds), len(bounds) - 1, ex.INFINITY)):
            pairs = {
                r: (leaf, table.leaves[(*r[:position], beyond, *r[position + 1 :])])
                for r, leaf in table.leaves.items()
                if r[position] == level
            }
            test = _single_test(list(pairs.values()))
            if test is None:
                continue
            leaves = dict(table.leaves)
            for region, (leaf, _) in pairs.items():
                if isinstance(leaf, Plain):
                    leaves[region] = Plain(ex.substituted(leaf.value, {_atom_of(test): ex.constant(test is _atom_of(test))}))
            own = min(level, beyond)
            moved = (*bounds[:own], ex.select(test, bounds[own], bound), *bounds[own + 1 :])
            table = Table((*table.axes[:position], (key, moved), *table.axes[position + 1 :]), leaves)
    return table


def _between(table: Table) -> Table:
    """Joins the middle one of three regions along an axis (`no`, p, `yes`) to one of the others, by p."""
    changed = True
    while changed:
        changed = False
        for position, (key, bounds) in enumerate(table.axes):
            for level in range(1, 0 if isinstance(key, Expr) else len(bounds)):
                columns = [
                    [table.leaves[(*r[:position], n, *r[position + 1 :])] for n in (level - 1, level, level + 1)]
                    for r in table.leaves
                    if r[position] == level
                ]
                mixed = [c for c in columns if not c[0] == c[1] == c[2]]
                if any(not isinstance(x, Plain) for c in mixed for x in c):
                    continue
                ends = [(c[0].value, c[2].value) for c in mixed if isinstance(c[0], Plain) and isinstance(c[2], Plain)]
                test = _single_test([(c[1], c[2]) for c in mixed])
                if test is None or any({*e} != {ex.TRUE, ex.FALSE} for e in ends):
                    continue
                # where the test holds, the middle region differs from the one above it
                moved = ex.select(test, bounds[level], bounds[level - 1])
                above = {
                    r: table.leaves[(*r[:position], level + 1, *r[position + 1 :])] if r[position] == level else leaf
                    for r, leaf in table.leaves.items()
                }
                table = _without(Table(table.axes, above), position, level)
                axis = (key, (*bounds[: level - 1], moved, *bounds[level + 1 :]))
                table = Table((*table.axes[:position], axis, *table.axes[position + 1 :]), table.leaves)
                changed = True
                break
            if changed:
                break
    return table


def _single_test(pairs: list[tuple[Leaf | None, Leaf | None]]) -> Expr | None:
    """The one condition under which the leaves of a region differ from those beside it; None: there are others."""
    found: set[Expr] = set()
    for leaf, beside in pairs:
        if leaf == beside:
            continue
        if not isinstance(leaf, Plain) or not isinstance(beside, Plain) or beside.value.op != "const" or leaf.value.op == "const":
            return None
        found.add(leaf.value if beside.value is ex.FALSE else ex.negation(leaf.value))
    return found.pop() if len(found) == 1 else None


def _without(table: Table, position: int, level: int) -> Table:
    """Regions `level` and `level + 1` along one axis made one."""
    key, bounds = table.axes[position]
    gone = isinstance(key, Expr) or len(bounds) == 1
    leaves: dict[Region, Leaf | None] = {}
    for region, leaf in table.leaves.items():
        at = region[position]
        if at == level + 1:
            continue
        moved = () if gone else (at - 1 if at > level else at,)
        leaves[(*region[:position], *moved, *region[position + 1 :])] = leaf
    axis = () if gone else ((key, (*bounds[:level], *bounds[level + 1 :])),)
    return Table((*table.axes[:position], *axis, *table.axes[position + 1 :]), leaves)


def _with_axes(table: Table, keys: Iterable[AxisKey], others: Mapping[AxisKey, tuple[Expr, ...]]) -> Table:
    """The table on these axes; along one that it lacks, nothing changes at the other table's bounds."""
    own = dict(table.axes)
    axes = tuple((k, own[k] if k in own else others[k]) for k in keys)
    order = [k for k, _ in table.axes]
    sizes = [2 if isinstance(k, Expr) else len(b) + 1 for k, b in axes]
    leaves: dict[Region, Leaf | None] = {}
    for region in itertools.product(*(range(s) for s in sizes)):
        at = dict(zip((k for k, _ in axes), region, strict=True))
        leaves[region] = table.leaves[tuple(at[k] for k in order)]
    return Table(axes, leaves)


def _with_endless(table: Table, other: Table) -> Table:
    """The table with thresholds that only the other one has, beyond all numbers: all of it lies on the side where both agree."""
    for key, bounds in other.axes:
        if isinstance(key, Expr) or key in dict(table.axes):
            continue
        position = [k for k, _ in other.axes].index(key)
        shared = [k for k, _ in table.axes]
        for level, bound in ((len(bounds), ex.MINUS_INFINITY), (0, ex.INFINITY)):
            side = {r: leaf for r, leaf in other.leaves.items() if r[position] == level}
            if _agrees(table, shared, side, [k for k, _ in other.axes]):
                leaves: dict[Region, Leaf | None] = {}
                for region, leaf in table.leaves.items():
                    for n in range(len(bounds) + 1):
                        leaves[(*region, n)] = leaf if n == level else None
                table = Table((*table.axes, (key, (bound,) * len(bounds))), leaves)
                break
    return table


def _agrees(table: Table, own: list[AxisKey], side: Mapping[Region, Leaf | None], keys: list[AxisKey]) -> bool:
    """Whether the leaves of one side of the other table may be those of the table; numbers always may."""
    sizes = [2 if isinstance(k, Expr) else len(b) + 1 for k, b in table.axes]
    for region, leaf in side.items():
        at = dict(zip(keys, region, strict=True))
        for mine in itertools.product(*(range(s) for s in sizes)):
            here = table.leaves[mine]
            if any(isinstance(k, Expr) and k in at and at[k] != m for k, m in zip(own, mine, strict=True)):
                continue
            if isinstance(leaf, Plain) and isinstance(here, Plain) and leaf != here:
                return False
    return True


def _levelled(left: Table, right: Table, position: int) -> tuple[Table, Table]:
    """Both tables with equally many bounds along one axis: some bounds of the shorter one are repeated, with an empty region
    between."""
    a, b = left.axes[position][1], right.axes[position][1]
    are_numbers = _is_few(left.axes[position][0]) and all(e.op == "const" for e in (*a, *b))
    if a == b or (len(a) == len(b) and not are_numbers):
        return left, right
    if are_numbers:
        union = tuple(sorted({*a, *b}, key=lambda e: cast(float, e.value)))
        return _refined(left, position, union), _refined(right, position, union)
    if len(a) > len(b):
        second, first = _levelled(right, left, position)
        return first, second
    best: tuple[int, Table] | None = None
    for chosen in itertools.combinations_with_replacement(range(len(a)), len(b) - len(a)):
        stretched = left
        for done, at in enumerate(chosen):
            stretched = _repeated(stretched, position, at + done)
        score = sum(1 for r, leaf in stretched.leaves.items() if leaf is None or leaf == right.leaves.get(r))
        if best is None or score > best[0]:
            best = (score, stretched)
    assert best is not None
    return best[1], right


def _is_few(key: AxisKey) -> bool:
    """Whether an axis is one state with few values; its bounds are numbers, unless it is compared with an element."""
    if isinstance(key, Expr) or len(key[0].parts) != 1:
        return False
    monomial, factor = key[0].parts[0]
    return factor is ex.ONE and len(monomial) == 1 and monomial[0].sort.values is not None


def _refined(table: Table, position: int, bounds: tuple[Expr, ...]) -> Table:
    """The table with more bounds along one axis, that make no difference."""
    key, own = table.axes[position]
    leaves: dict[Region, Leaf | None] = {}
    for region in itertools.product(
        *(
            range(len(bounds) + 1) if n == position else range(2 if isinstance(k, Expr) else len(b) + 1)
            for n, (k, b) in enumerate(table.axes)
        )
    ):
        level = sum(1 for b in bounds[: region[position]] if b in own)
        leaves[region] = table.leaves[(*region[:position], level, *region[position + 1 :])]
    return Table((*table.axes[:position], (key, bounds), *table.axes[position + 1 :]), leaves)


def _repeated(table: Table, position: int, at: int) -> Table:
    """The table with bound `at` of one axis twice."""
    key, bounds = table.axes[position]
    leaves: dict[Region, Leaf | None] = {}
    for region, leaf in table.leaves.items():
        level = region[position]
        leaves[(*region[:position], level + 1 if level > at else level, *region[position + 1 :])] = leaf
        if level == at:
            leaves[(*region[:position], at + 1, *region[position + 1 :])] = None
    return Table((*table.axes[:position], (key, (*bounds[: at + 1], *bounds[at:])), *table.axes[position + 1 :]), leaves)
