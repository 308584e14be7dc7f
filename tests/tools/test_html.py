"""Pages and pictures: self-contained, escaped, and the script's data agree with the movement."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

from tests.tools.small import COMPLETIONS, KERNEL, SIZES

from warploom.core import NOWHERE
from warploom.gpu import ListedLine, Listings
from warploom.tools.html.colours import element_colours, stripes
from warploom.tools.html.page import Page, render
from warploom.tools.html.scene import scene
from warploom.tools.pages.movement import Value, combined, short
from warploom.tools.pages.picture import picture
from warploom.tools.pages.trace import trace

MOVEMENT = trace(KERNEL, COMPLETIONS, SIZES)


def page(**changes: str) -> str:
    fields = {"title": "conv <1d>", "summary": "a & b", "source": ""} | changes
    listings = Listings((ListedLine("if (a < b && c) { /* </script> */ }", NOWHERE),))
    return render(
        Page(
            listings=listings,
            kernel=KERNEL,
            completions=COMPLETIONS,
            movement=MOVEMENT,
            facts=[("verdict", "<proved>")],
            **fields,
        )
    )


class Reader(HTMLParser):
    """Collects elements, links and the text of scripts."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []
        self.texts: list[str] = []
        self.scripts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.links += [value or "" for name, value in attrs if name in ("src", "href")]
        if tag not in ("meta", "input"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        (self.scripts if self.open[-1:] == ["script"] else self.texts).append(data)


def test_page_is_well_formed_escaped_and_needs_no_other_file() -> None:
    text = page()
    reader = Reader()
    reader.feed(text)
    assert reader.open == []
    assert reader.links == []
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text)
    assert {"conv <1d>", "a & b", "<proved>"} <= set(reader.texts)
    assert any("</script>" in found for found in reader.texts)
    assert len(reader.scripts) == 2


def test_data_cannot_leave_the_script() -> None:
    text = page()
    data = re.search(r'<script type="application/json" id="movement">(.*?)</script>', text, re.S)
    assert data is not None
    assert "<" not in data[1]
    assert json.loads(data[1]) == json.loads(json.dumps(scene(KERNEL, COMPLETIONS, MOVEMENT)))


def test_scene() -> None:
    drawn = json.loads(json.dumps(scene(KERNEL, COMPLETIONS, MOVEMENT)))
    names = [cell["name"] for cell in drawn["cells"]]
    assert len(set(names)) == len(names)
    assert names[:6] == [f"x[{i}]" for i in range(6)]
    x0, x4 = (next(cell for cell in drawn["cells"] if cell["name"] == name) for name in ("x[0]", "x[4]"))
    assert (x0["x"], x0["y"] < x4["y"]) == (x4["x"], True)
    shuffle = drawn["steps"][6]
    assert (shuffle["kind"], shuffle["loops"]) == ("shuffle", ["k = 1"])
    assert shuffle["holes"][0] == {"name": "from", "text": "(lane + k) % 4", "colour": "#f6e27f", "values": ["1", "2", "3", "0"]}
    arrows = [(names[write[0]], [names[origin] for origin in write[2]]) for write in shuffle["writes"]]
    assert arrows[0] == ("lane 0, got", ["lane 1, sent"])
    places = [(cell["x"], cell["y"]) for cell in drawn["cells"]]
    assert len(set(places)) == len(places)


def test_holes_are_marked_in_the_source(tmp_path: Path) -> None:
    from warploom.sketch import load
    from warploom.synth import complete

    (sketch,) = load("examples/conv1d.py")
    report = complete(sketch)
    holes = report.completions[0].holes
    text = render(
        Page(
            title="conv1d",
            summary="",
            kernel=sketch.kernel,
            completions=holes,
            movement=trace(sketch.kernel, holes, sketch.complete_at),
            facts=[],
            source=Path("examples/conv1d.py").read_text(),
        )
    )
    assert 'title="swizzle1 = 0 if lane &gt;= k else 1">wl.part(2, lane, k, name=&quot;swizzle1&quot;)</mark>' in text
    assert text.count('class="row"') == sum(1 for _ in range(sketch.kernel.span.line, sketch.kernel.span.end_line + 1))


def test_picture() -> None:
    drawn = picture(KERNEL, COMPLETIONS, MOVEMENT)
    root = ElementTree.fromstring(drawn)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    texts = [node.text for node in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "from = (lane + k) % 4" in texts
    assert texts.count("Σ3") == 8
    arrows = [node for node in root.iter("{http://www.w3.org/2000/svg}path") if node.get("class") == "arrow"]
    assert len(arrows) == 3 * 3 * 4 + 4


def test_colours() -> None:
    colours = element_colours({"x": ["x[0]", "x[1]"], "w": ["w[0]"]}, frozenset({"w"}))
    assert len(set(colours.values())) == 3
    assert stripes(("w[0]", "x[1]"), colours, frozenset({"w[0]"})) == [colours["x[1]"]]
    assert stripes(("w[0]",), colours, frozenset({"w[0]"})) == [colours["w[0]"]]
    many = {f"x[{i}]": f"hsl({i} 1% 1%)" for i in range(100)}
    assert len(stripes(tuple(many), many, frozenset())) == 16


def test_a_cell_says_what_it_holds_and_not_another_operation() -> None:
    x, y, w = (Value(name, (name,)) for name in ("x[1]", "y[2]", "w[0]"))
    assert short(combined("*", (w, x))) == "w0·x1"
    assert short(combined("+", (x, y))) == "x1+y2"
    assert short(combined("-", (x, combined("*", (w, y))))) == "x1-w0·y2"
    long = combined("+", (combined("+", (x, y)), combined("+", (w, x))))
    assert short(long) == "x1+y2+w0…"[:8] + "…"
    assert short(Value("a", ("x[1]", "y[2]"), 5)) == "Σ5"
