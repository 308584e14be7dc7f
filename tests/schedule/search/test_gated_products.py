"""First guesses for a gated layer: both products read one copy of their common factor, by groups of four warps on sm_90."""

from __future__ import annotations

import pytest
from benchmarks.gated_products import line

from warploom.gpu import toolchain_available

pytestmark = pytest.mark.skipif(not toolchain_available(), reason="needs the extra `cuda`")


@pytest.mark.slow
def test_both_products_share_a_factor_and_nothing_spills() -> None:
    found = line("sm_90", "[n, k]", 1024)
    assert (found["is_shared"], found["wgmma"], found["spill_bytes"]) == (True, True, 0)
    assert found["modelled_ms"] < found["apart_ms"]  # pyright: ignore[reportOperatorIssue]
