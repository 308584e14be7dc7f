import pytest

from warploom.core import UserError
from warploom.schedule.backbone import backbone_text, parse_backbone

FILTER = """\
backbone filter ordered
axis i 10: 3 5 | 2 4
axis k 3: 3
input X f32 [10] strides [1]
input W f32 [5] strides [2]
output Y f32 [10] strides [1]
init[i] = move f32 0.0
load_X[i, k] = load f32 X[i + k - 1] else -inf
load_W[k] = load f32 W[-k + 4]
mad[i, k] = fma f32 load_X[i, k]@thread, load_W[k], carry(init; k)
scaled[i] = mul f32 mad[i], alpha:f32
store_Y[i] = store f32 scaled[i] to Y[i]
"""


def test_round_trip():
    assert backbone_text(parse_backbone(FILTER)) == FILTER


def test_comments_and_blank_lines():
    assert backbone_text(parse_backbone("# a filter\n\n" + FILTER.replace("0.0\n", "0.0  # nothing yet\n"))) == FILTER


def test_ordered_reductions_are_not_parallel():
    ordered, free = parse_backbone(FILTER), parse_backbone(FILTER.replace(" ordered", ""))
    assert [d.is_parallel for d in ordered.dims if d.is_reduction] == [False]
    assert [d.is_parallel for d in free.dims if d.is_reduction] == [True]
    assert all(d.is_parallel for d in ordered.dims if not d.is_reduction)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "backbone filter ordered",
            "kernel filter",
            "1:1: error[BACKBONE_SYNTAX]: expected `backbone NAME`, got 'kernel filter'",
        ),
        ("= move", "= mov", "7:11: error[BACKBONE_SYNTAX]: expected an operator, got 'mov'"),
        ("load_W[k] = load f32", "load_W[k] = load f23", "expected an element type, got 'f23'"),
        ("X[i + k - 1]", "X[i + q - 1]", "expected the name of an axis, got 'q'"),
        ("X[i + k - 1]", "X[i * k]", "expected an index such as 2*i + 1, got 'i * k'"),
        ("X[i + k - 1]", "Z[i + k - 1]", "expected the name of a region, got 'Z'"),
        ("X[i + k - 1]", "X[i +]", "expected an index, got 'i +'"),
        ("mad[i], alpha", "made[i], alpha", "expected an instruction of a line before, got 'made'"),
        ("@thread", "@warp", "expected a scope, got 'warp'"),
        (", alpha:f32", ", alpha", "expected a number, a scalar, a result or a carry, got 'alpha'"),
        ("scaled[i] to Y[i]", "scaled[i]", "expected `operand to place`, got 'scaled[i]'"),
        ("axis k 3: 3", "axis k 3: 3 |", "expected a size of 1 or more, and sizes of every level, got 'axis k 3: 3 |'"),
        ("input W", "inputs W", "expected an axis, a region or an instruction, got 'inputs W"),
    ],
)
def test_located_errors(old, new, message):
    assert old in FILTER
    with pytest.raises(UserError) as caught:
        parse_backbone(FILTER.replace(old, new), "filter.txt")
    assert message in str(caught.value)


def test_empty():
    with pytest.raises(UserError, match="expected a line `backbone NAME`"):
        parse_backbone("# nothing\n")


def test_a_mistake_is_shown_with_its_whole_length() -> None:
    with pytest.raises(UserError) as caught:
        parse_backbone(FILTER.replace("= move", "= mov"))
    span = caught.value.diagnostics[0].span
    assert (span.column, span.end_column) == (11, 14)
