"""Names of examples."""

import pytest

from warploom.core import UserError
from warploom.kernels import NAMES, examples, find


def test_every_listed_name_builds_with_the_same_parameters_on_both_sides() -> None:
    built = examples()
    assert tuple(built) == NAMES
    for name, example in built.items():
        assert example.name == name
        sketch, baseline = example.sketch.kernel, example.baseline.kernel
        assert sketch.holes, name
        assert not baseline.holes, name
        assert [(p.name, p.dtype, p.shape) for p in sketch.params] == [(p.name, p.dtype, p.shape) for p in baseline.params]
        assert sketch.sizes == baseline.sizes


@pytest.mark.parametrize("name", ["conv1d-5", "stencil1d-9", "conv2d-4", "aos-store-crc-12", "ffm-416"])
def test_unlisted_sizes(name: str) -> None:
    assert find(name).name == name
    assert find(name) is find(name)


@pytest.mark.parametrize(
    "name", ["conv1d", "conv1d-1", "conv1d-9999", "conv3d-3", "mult33-reg", "aos-store-crc-5-units", "ffm-33", ""]
)
def test_unknown_names(name: str) -> None:
    with pytest.raises(UserError) as caught:
        find(name)
    assert caught.value.diagnostics[0].code == "UNKNOWN_EXAMPLE"


def test_near_matches() -> None:
    with pytest.raises(UserError, match="conv1d-3"):
        find("conv1-3")
