"""Proofs of movement are made in these tests, whatever the user's cache holds."""

import pytest


@pytest.fixture(autouse=True)
def without_kept_proofs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WARPLOOM_CACHE", "off")
