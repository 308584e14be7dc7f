"""Every text that the compilers emit parses and prints back byte for byte."""

from collections.abc import Mapping

import pytest
from tests.ptx.corpus import names, quick, text

from warploom.ptx.syntax import exact, normal, parse

KNOWN_FAILURES: Mapping[str, str] = {
    name: "a modifier that starts with a digit, before an operand in braces: `tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, ...`"
    for name in names()
    if name.startswith("nvrtc/textures/") or name == "triton/matmul/100"
}


CASES = [pytest.param(name, marks=() if name in quick() else pytest.mark.slow) for name in names()]


@pytest.mark.parametrize("name", CASES)
def test_prints_back(name: str, request: pytest.FixtureRequest) -> None:
    given = text(name)
    if name in KNOWN_FAILURES:
        request.applymarker(pytest.mark.xfail(reason=KNOWN_FAILURES[name], strict=True))
    module = parse(given)
    assert exact(module) == given
    once = normal(module)
    assert normal(parse(once)) == once
