"""Pages in a browser: light and dark, wide and of 400 px, by keys, and as a screen reader is told of them.

`WARPLOOM_SCREENSHOTS=FOLDER` keeps what was seen; docs/pages has some of these pictures.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.browser import Tab, browser, needs_browser
from tests.tools.small import KERNEL
from tests.tools.test_html import page

from warploom.tools.cli import cli

pytestmark = needs_browser
NOTHING: dict[str, list[str]] = {"overflowing": [], "cut": [], "faint": [], "unreachable": []}
BAD = """<!doctype html><html lang="en"><style>:root{color-scheme:light dark}.box{width:80px;overflow-x:auto}</style>
<p id="wide" style="width:3000px">wide</p><p style="color:#bbb;background:#fff">faint</p>
<svg viewBox="0 0 40 20" width="40" height="20"><text x="35" y="15">long label</text></svg>
<div class="box"><pre>a line that is much longer than its box is wide</pre></div><script>undefinedFunction()</script></html>"""


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    with browser(tmp_path_factory.mktemp("browser")) as opened:
        yield opened


def kept(tab: Tab, name: str) -> None:
    if folder := os.environ.get("WARPLOOM_SCREENSHOTS"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        (Path(folder) / f"{name}.png").write_bytes(tab.picture())


def test_what_the_checks_complain_of(tab: Tab, tmp_path: Path) -> None:
    path = tmp_path / "bad.html"
    path.write_text(BAD)
    tab.open(path, width=400)
    found = tab.complaints()
    assert found["overflowing"] == ["P.null"] and found["cut"] == ["long label"] and found["unreachable"] == ["DIV.box"]
    assert found["faint"] == ["P.null 1.9 faint"] and len(tab.errors) == 1 and not tab.is_dark()
    tab.open(path, dark=True)
    assert tab.is_dark()


def test_a_page_of_a_sketch(tab: Tab, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(page())
    for width, dark in ((1200, False), (400, True)):
        tab.open(path, width=width, dark=dark, anchor="#step=7")
        assert tab.complaints() == NOTHING and tab.errors == [] and tab.is_dark() == dark
    shown = "document.getElementById('{}').textContent"
    assert tab.ask(shown.format("title")) == "shuffle between lanes: got"
    assert tab.ask(shown.format("why")) == "lane 3 needs x[4]: only lane 0 has it, in inp[1]"
    assert tab.ask("document.querySelectorAll('.arrow').length") == 4
    tab.press("ArrowRight")
    assert tab.ask(shown.format("count")).startswith("8 / ")
    tab.press("Home")
    assert tab.ask(shown.format("count")).startswith("0 / ")
    tab.ask("document.querySelector('.lane').focus()")
    for key in ("ArrowRight", "Enter"):  # among the lane numbers, arrows choose a lane
        tab.press(key)
    assert tab.ask("document.querySelector('.lane[aria-pressed=true]').textContent") == "1"
    tab.press("Escape")
    assert tab.ask("document.querySelectorAll('.lane[aria-pressed=true]').length") == 0
    told = tab.told()
    assert {("button", "one step on"), ("button", "lane 1"), ("slider", "step"), ("heading", "Completed holes")} <= set(told)
    assert all(name for role, name in told if role in ("button", "slider", "link", "image", "region"))
    tab.ask("document.activeElement.blur(), document.getElementById('table').open = true")
    tab.press("ArrowRight")
    assert tab.ask("document.querySelectorAll('#table tbody tr').length") == KERNEL.threads


def test_a_shuffle_from_a_row_into_itself_shows_the_row_as_it_was(tab: Tab, tmp_path: Path) -> None:
    from warploom.ir import HoleArg, IndexBinary, IndexConst, parse_kernel
    from warploom.tools.html.page import Page, render
    from warploom.tools.pages.trace import trace

    kernel = parse_kernel("""
@hole("from", kind="xform", args=("lane",), n=4)
@kernel(block=(4, 1, 1), grid=(1, 1, 1), warp_size=4, file="")
def turned(x: Global[f32, 4], y: Global[f32, 4] | out):
    a_register_with_a_name_that_needs_room: f32 = x[thread_id]
    a_register_with_a_name_that_needs_room: f32 = shfl(a_register_with_a_name_that_needs_room, hole("from", thread_id), 4)
    y[thread_id] = a_register_with_a_name_that_needs_room
""")
    holes = {"from": IndexBinary("%", IndexBinary("+", HoleArg(0), IndexConst(1)), IndexConst(4))}
    path = tmp_path / "turned.html"
    path.write_text(render(Page("turned", kernel, holes, trace(kernel, holes, {}), [], "")))
    tab.open(path, anchor="#step=2")
    assert tab.complaints() == NOTHING and tab.errors == []
    texts = tab.ask("[...document.querySelectorAll('.label')].map(node => node.textContent)")
    assert (
        "before  a_register_with_a_name_that_needs_room" in texts and tab.ask("document.querySelectorAll('.arrow').length") == 4
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("sketch", "synth examples/conv1d.py"),
        ("shared", "synth examples/transpose_32x8.py"),
        ("layout", "layout 32x32:f32 --access rows --access columns"),
        ("exchange", "exchange --from mma:m16n8k32:C:e4m3 --to mma:m16n8k32:A:e4m3"),
        ("explore", "explore matmul --size m=64,n=64,k=64 --target sm_90 --budget 4s --proof-budget 1s"),
        ("lint", "lint examples/lint/transpose.cu --launch 2,2 32,32 --arg random:f32:64x64 --arg zeros:f32:64x64 --arg i32:64"),
    ],
)
def test_pages_of_commands(name: str, words: str, tab: Tab, tmp_path: Path) -> None:
    path = tmp_path / f"{name}.html"
    done = CliRunner().invoke(cli, [*words.split(), "--html", str(path)])
    assert path.exists(), done.output
    for width in (1200, 400):
        for dark in (False, True):
            tab.open(path, width=width, dark=dark, anchor="#step=7" if name == "sketch" else "")
            kept(tab, f"{name}-{width}-{'dark' if dark else 'light'}")
            assert tab.complaints() == NOTHING and tab.errors == [] and tab.is_dark() == dark, (width, dark)
    assert all(told for role, told in tab.told() if role in ("button", "slider", "link", "image", "region"))
