import numpy as np
import pytest
from tests.schedule.backbone.test_text import FILTER

from warploom.core import f32, i8, u8
from warploom.schedule.backbone import Region, Role, backbone_text, evaluate, parse_backbone, random_inputs

X = np.arange(10, dtype=np.float32)
W = np.array([0, 1, 2, 4, 8], np.float32)


def test_a_filter_with_fill_and_a_scalar():
    filled = FILTER.replace("-inf", "0.0")
    got = evaluate(parse_backbone(filled), {"X": X, "W": W}, {"alpha": 2})["Y"]
    padded = np.pad(X, 1)
    np.testing.assert_array_equal(got, 2 * (8 * padded[:-2] + 4 * padded[1:-1] + 2 * padded[2:]))


def test_fill_value():
    got = evaluate(parse_backbone(FILTER), {"X": X, "W": W}, {"alpha": 1})["Y"]
    assert got[0] == got[-1] == -np.inf
    assert np.isfinite(got[1:-1]).all()


def test_the_last_value_of_axes_that_are_not_mapped():
    text = """\
backbone last
axis i 4: 4
axis j 3: 3
input X f32 [4] strides [1]
output Y f32 [3] strides [1]
load[i] = load f32 X[i]
store[j] = store f32 load[] to Y[j]
"""
    got = evaluate(parse_backbone(text), {"X": np.arange(4.0)})["Y"]
    assert got.tolist() == [3, 3, 3]


def test_regions_of_one_element_without_an_index():
    text = """\
backbone one
axis i 3: 3
input X f32 [3] strides [1]
input c f32 [] strides []
output Y f32 [] strides []
load_c[] = load f32 c[]
load[i] = load f32 X[i]
sum[i] = add f32 carry(load_c; i), load[i]
store[] = store f32 sum[] to Y[]
"""
    assert backbone_text(parse_backbone(text)) == text
    got = evaluate(parse_backbone(text), {"X": np.arange(3.0), "c": np.array(10.0)})["Y"]
    assert got.shape == () and got == 13


def test_random_inputs_are_those_of_the_seed_and_in_range():
    regions = [
        Region("X", f32, (50, 3), (3, 1), Role.INPUT),
        Region("n", i8, (500,), (1,), Role.INPUT),
        Region("u", u8, (500,), (1,), Role.INPUT),
        Region("Y", f32, (4,), (1,), Role.OUTPUT),
    ]
    found = random_inputs(regions, 3)
    assert list(found) == ["X", "n", "u"] and found["X"].shape == (50, 3)
    assert found["X"].min() < -0.9 and found["X"].max() > 0.9
    assert (found["n"].min(), found["n"].max(), found["u"].min(), found["u"].max()) == (-8, 7, 0, 15)
    assert all((a == b).all() for a, b in zip(found.values(), random_inputs(regions, 3).values(), strict=True))


def test_sums_round_at_every_step_from_first_to_last():
    text = """\
backbone sum
axis i 3: 3
input X f32 [3] strides [1]
output Y f32 [1] strides [1]
load[i] = load f32 X[i]
init[] = move f32 0.0
sum[i] = add f32 carry(init; i), load[i]
store[] = store f32 sum[] to Y[0]
"""
    for values, total in (((1e8, 1, -1e8), 0), ((1e8, -1e8, 1), 1)):
        assert evaluate(parse_backbone(text), {"X": np.array(values)})["Y"].tolist() == [total]


def test_fma_rounds_once():
    text = """\
backbone residue
input X f32 [1] strides [1]
output Y f32 [1] strides [1]
load[] = load f32 X[0]
square[] = mul f32 load[], load[]
minus[] = neg f32 square[]
rest[] = fma f32 load[], load[], minus[]
store[] = store f32 rest[] to Y[0]
"""
    x = np.float32(1 + 2**-12 + 2**-23)
    exact = float(x) * float(x) - float(np.float32(x * x))
    assert evaluate(parse_backbone(text), {"X": np.array([x])})["Y"].tolist() == [np.float32(exact)]
    assert exact != 0


def test_missing_inputs():
    with pytest.raises(KeyError, match="W"):
        evaluate(parse_backbone(FILTER), {"X": X}, {"alpha": 1})
    with pytest.raises(KeyError, match="alpha"):
        evaluate(parse_backbone(FILTER), {"X": X, "W": W})
