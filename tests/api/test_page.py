"""docs/api.md names all that there is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from tests.api.page import FUNCTIONS, MARK, RESULTS, generated

import warploom
from warploom import api

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
