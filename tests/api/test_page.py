"""docs/api.md names all that there is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from tests.api.page import FUNCTIONS, MARK, RESULTS, generated

import warploom
from warploom import api
from warploom.api import exploring

PAGE = Path("docs/api.md")


def test_the_page_is_made_from_the_code(golden: Callable[[Path, str], None]) -> None:
    golden(PAGE, PAGE.read_text(encoding="utf-8").partition(MARK)[0] + generated())


def test_everything_public_is_on_the_page() -> None:
    assert set(api.__all__) == {*FUNCTIONS, *RESULTS, "Progress"}
    assert set(api.__all__) - {"Progress"} <= set(warploom.__all__)


def test_results_have_no_truth_of_their_own() -> None:
    assert not any(hasattr(getattr(api, name), "__bool__") or hasattr(getattr(api, name), "__len__") for name in RESULTS)


def test_functions_stay_functions_when_the_packages_of_their_names_are_loaded() -> None:
    packages = {p.parent.name for p in Path(warploom.__file__).parent.glob("*/__init__.py")}
    shared = packages & set(warploom.__all__) - {"ptx"}
    assert shared == {"layout", "sketch", "solve"}
    for name in shared:
        __import__(f"warploom.{name}")
        assert not isinstance(getattr(warploom, name), ModuleType)


def test_the_version_is_the_packages() -> None:
    from importlib.metadata import version

    assert warploom.__version__ == version("warploom")


def test_other_modules_are_found_by_their_names() -> None:
    module = ModuleType("some_module")
    setattr(warploom, module.__name__, module)
    try:
        assert getattr(warploom, module.__name__) is module
    finally:
        delattr(warploom, module.__name__)


def test_an_exploration_without_an_answer_has_the_page_of_any_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exploring, "page_text", lambda *_: "of implementations")
    monkeypatch.setattr(exploring.Result, "_page", lambda _: "of any line")
    found = object.__new__(exploring.Explored)
    for implementations, expected in (None, "of any line"), ((1,), "of implementations"):
        for name, value in {"line": {}, "implementations": implementations, "options": 1, "report": None}.items():
            object.__setattr__(found, name, value)
        assert found._page() == expected
