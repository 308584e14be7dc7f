"""A share of the fuzzer of equivalences, and that it finds what is wrong."""

from unittest import mock

from benchmarks.fuzz import equivalences

from warploom.synth.compiled import comparison


def test_a_share() -> None:
    found = [equivalences.check(case) for case in range(25)]
    assert {"proved", "refuted"} <= {ending for ending, _ in found}
    assert [(case, message) for case, (_, message) in enumerate(found) if message] == []


def test_it_can_fail() -> None:
    """Differences that the prover no longer sees are found by running both kernels."""
    with mock.patch.object(comparison.Comparison, "_same", lambda self, pair, kinds: ("equal", ())):
        found = [message for case in range(15) if (message := equivalences.check(case)[1])]
    assert found and all(m.startswith("proved equal, and different for") for m in found)
