"""The operator of a variant: what a kernel combines so that one forward pass is a backward or a segmented scan.

    segmented   values with a flag, joined as `segments` found: heads forward, tails backward
    by key      the same; an element is the first of its segment where its key is not that of the element before
    backward    operands swapped, for a pass that reads the list from its end: (b op a) is as associative as (a op b)

Result i of a backward scan is what the loop gives of the elements from i on, in the order of the list.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from warploom.scan.operators import expression as ex
from warploom.scan.operators.expression import Expr
from warploom.scan.operators.operator import Operator
from warploom.scan.variants.segments import segmented_operator


@dataclass(frozen=True, slots=True)
class ScanForm:
    """The scan that a kernel computes; the plain one is forward, over one segment."""

    is_backward: bool = False
    is_segmented: bool = False
    is_by_key: bool = False
    """Segmented, by an array of keys in place of flags; forward only."""

    @property
    def is_plain(self) -> bool:
        return not (self.is_backward or self.is_segmented)

    def __str__(self) -> str:
        flags = "segmented (keys)" if self.is_by_key else f"segmented ({self.flag}s)" if self.is_segmented else ""
        return " ".join([*(["backward"] if self.is_backward else []), *([flags] if flags else [])]) or "forward"

    @property
    def flag(self) -> str:
        """Kind of the flag that elements have: `head` marks the first one of a segment, `tail` the last."""
        return "tail" if self.is_backward else "head"


FORWARD = ScanForm()


def variant_operator(operator: Operator, form: ScanForm) -> Operator:
    """The operator for one pass over the list, from its end where the form is backward; its loop has
    the flag as last field, or the keys of the element and of the one before."""
    found = _segmented(operator, form) if form.is_segmented else operator
    if not form.is_backward:
        return found
    swap = dict(zip(found.fields, found.right, strict=True)) | dict(zip(found.right, found.fields, strict=True))
    return replace(found, combine=tuple(ex.substituted(e, swap) for e in found.combine), inner=())


def _segmented(operator: Operator, form: ScanForm) -> Operator:
    name, taken = _free(form.flag, operator.names), [str(v.value) for v in _names_of(operator)]
    f, g = ex.variable(name, ex.BOOL), ex.variable(f"{name}'", ex.BOOL)
    given = [ex.variable(_free(form.flag, taken), ex.BOOL)]
    flag = given[0]
    if form.is_by_key:
        given = [ex.variable(_free(n, taken), ex.INT) for n in ("key", "key_before")]
        flag = ex.negation(ex.equal(*given))
    rule = segmented_operator("tails" if form.is_backward else "heads")

    def by_flags(cases: tuple[Expr, ...]) -> Expr:
        neither, second, first, both = cases
        return ex.select(f, ex.select(g, both, first), ex.select(g, second, neither))

    combine: list[Expr] = []
    for neutral, x, y, together in zip(operator.identity, operator.fields, operator.right, operator.combine, strict=True):
        choice = {"0": neutral, "x": x, "y": y, "x op y": together}
        combine.append(by_flags(tuple(choice[v] for v in rule.values)))
    joined = by_flags(tuple(ex.TRUE if v else ex.FALSE for v in rule.flags))
    return replace(
        operator,
        loop=replace(operator.loop, fields=(*operator.loop.fields, *given)),
        fields=(*operator.fields, f),
        right=(*operator.right, g),
        lift=(*operator.lift, flag),
        combine=(*combine, joined),
        identity=(*operator.identity, ex.FALSE),
        inner=(),
    )


def _names_of(operator: Operator) -> list[Expr]:
    loop = operator.loop
    return [*loop.fields, *loop.constants, *(s.variable for s in loop.states)]


def _free(name: str, taken: list[str] | tuple[str, ...]) -> str:
    while name in taken:
        name += "_"
    return name
