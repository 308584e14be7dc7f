"""Branches that few kernels reach: each refuses by itself."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from tests.schedule.nest.test_nest import at

from warploom.core import i32
from warploom.schedule.backbone import Constant, Operator, Result, Role, parse_backbone
from warploom.schedule.backbone.verify import _result
from warploom.schedule.bound.tables import _is_injective
from warploom.schedule.choices.inputs import _Inputs
from warploom.schedule.choices.lower_candidate import CandidateDecisions, LoweringError
from warploom.schedule.cpu.plain import _Plain
from warploom.schedule.cuda.pipeline import _Fill, _Split
from warploom.schedule.nest import Compute, Kind, Load, Memory, Ref, Space, Store
from warploom.schedule.nest.exchange import _Walker
from warploom.schedule.nest.walk import _factor


def test_a_pipeline_holds_shared_temporaries_only() -> None:
    kinds = [(Role.TEMPORARY, Space.SHARED), (Role.INPUT, Space.SHARED), (Role.TEMPORARY, Space.GLOBAL)]
    buffers = [SimpleNamespace(role=role, space=space, copies=2) for role, space in kinds]
    fill: Any = SimpleNamespace(
        nest=SimpleNamespace(buffers=buffers), outside=[], loop=SimpleNamespace(stages=2), _paths=lambda *_: iter(())
    )
    assert [_Fill._is_candidate(fill, n) for n in range(3)] == [True, False, False]


@pytest.mark.parametrize(("kinds", "is_split"), [("LU", False), ("UL", False), ("UU", True)])
def test_a_fill_is_split_where_all_its_loads_can_wait(kinds: str, is_split: bool) -> None:
    loops = {"L": SimpleNamespace(kind=Kind.LOOP), "U": SimpleNamespace(kind=Kind.UNROLL)}
    inside: Any = [SimpleNamespace(node=None, path=[loops[kind]]) for kind in kinds]
    nothing: Any = None
    assert _Split(nothing, nothing, inside, frozenset({0, 1}), frozenset()).is_split is is_split


def test_steps_that_meet_have_no_single_writer() -> None:
    writer: Any = SimpleNamespace(sizes={0: 4, 1: 4})
    apart, meeting, read = Memory(1, at((0, 1), (1, 4))), Memory(1, at((0, 1), (1, 2))), Memory(1, at((0, 1)))
    assert _Walker._writer(writer, Store(apart, Constant(1.0))) is not None
    assert _Walker._writer(writer, Store(meeting, Constant(1.0))) is None
    assert _Walker._writer(writer, Load(Ref(0, ()), read)) is None


def test_a_part_of_an_index_is_a_multiple_of_another_or_not() -> None:
    assert _factor({1: 4, 2: 6}, at((1, 2), (2, 3))) == 2
    assert _factor({1: 4, 2: 6}, at((1, 2), (3, 1))) is None  # a loop that is not there
    assert _factor({1: 5}, at((1, 2))) is None  # not a whole number
    assert _factor({1: 4, 2: 6}, at((1, 2), (2, 2))) is None  # not one number


def test_axes_that_overlap_touch_an_element_twice() -> None:
    backbone: Any = SimpleNamespace(axes=[SimpleNamespace(size=4), SimpleNamespace(size=4)])
    assert _is_injective(backbone, {0: 1, 1: 4}) and not _is_injective(backbone, {0: 1, 1: 3})


@pytest.mark.parametrize(
    ("owners", "extents", "merges", "expected"),
    [((0, 0), (5, 5), True, False), ((0, 1), (5, 5), False, True), ((0, 1), (5, 6), True, True), ((0, 1), (5, 6), False, False)],
)
def test_loops_that_may_merge(owners: tuple[int, int], extents: tuple[int, int], merges: bool, expected: bool) -> None:
    x, y = (SimpleNamespace(owner=o, extent=e) for o, e in zip(owners, extents, strict=True))
    given: Any = SimpleNamespace(
        features=SimpleNamespace(merges_axes=merges),
        _is_static=lambda _: True,
        objects=SimpleNamespace(
            backbone=SimpleNamespace(extents={5: SimpleNamespace(sizes=(2, 4)), 6: SimpleNamespace(sizes=(4,))})
        ),
    )
    loops: Any = (x, y)
    assert _Inputs._may_merge(given, *loops) is expected


def test_a_choice_that_is_open_is_not_lowered() -> None:
    given: Any = SimpleNamespace(
        has_choice={"prefetch"}, candidate=SimpleNamespace(values=lambda *_: ["1", "2"]), _open=CandidateDecisions._open
    )
    given._open = lambda *a: CandidateDecisions._open(given, *a)
    with pytest.raises(LoweringError, match=r"prefetch\(0,\) is not decided: 1, 2"):
        CandidateDecisions._single(given, "prefetch", 0, plain="0")
    assert CandidateDecisions._single(given, "direction", 0, plain="FORWARD") == "FORWARD"


def test_a_value_of_another_type_is_refused() -> None:
    text = """\
backbone copy
axis i 4: 4
input X f32 [4] strides [1]
output Y f32 [4] strides [1]
load_X[i] = load f32 X[i]
store_Y[i] = store f32 load_X[i] to Y[i]
"""
    backbone = parse_backbone(text)
    store = replace(backbone.instructions[1], dtype=i32)
    [operand] = [o for o in store.operands if isinstance(o, Result)]
    assert any("expected a value of type i32" in told for told in _result(backbone, 1, store, operand))


def test_a_sum_begins_with_what_it_begins_with() -> None:
    sums: Any = SimpleNamespace(
        carry=lambda _: SimpleNamespace(init=7),
        inline=lambda n, *_: [("made", n)],
        reduced=lambda _: (),
        over=lambda *_: ["loop"],
    )
    made, moved, loop = _Plain.reductions(sums, [3], frozenset())
    assert (made, loop) == (("made", 7), "loop") and moved == Compute(Ref(3, ()), Operator.MOVE, (Ref(7, ()),))
