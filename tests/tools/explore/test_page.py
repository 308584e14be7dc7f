"""The page of `explore`: well formed, escaped, self-contained; its loops, bounds and chart are those given."""

import re
from html.parser import HTMLParser

from warploom.core import f32
from warploom.core.linear import Linear
from warploom.schedule.backbone import Constant, Operator, Role
from warploom.schedule.bound import Explanation
from warploom.schedule.nest import (
    Barrier,
    Buffer,
    Compute,
    Guard,
    Kind,
    Load,
    Loop,
    Memory,
    Nest,
    Ref,
    Register,
    Space,
    Store,
    Value,
)
from warploom.solve import Event
from warploom.tools.explore.chart import chart
from warploom.tools.explore.page import MachineCode, StageView, render_explore

BOUND = Explanation("bound by <arithmetic>", 2.0, (Explanation("arithmetic", 2.0, (Explanation("mad", 1.5),)),))
LINE = {
    "status": "solved", "verdict": "tested", "cases": 4, "target": "cpu", "sizes": {"n": 4}, "time_ms": 2.5,
    "time_is": "measured",
    "bound_ms": 2.0, "gflops": 1.5, "complete": False, "decisions": {"size(n0)": "4", "dim_kind(<x>)": "BLOCK"},
}  # fmt: skip


def nest() -> Nest:
    at = Linear(((0, 4), (1, 1)))
    body = (
        Load(Ref(0, (Linear(((1, 1),)),)), Memory(0, at, (Guard(at, 7),))),
        Compute(Ref(1, ()), Operator.ADD, (Ref(1, ()), Constant(1.0))),
    )
    inner = (Loop(1, "n1", Kind.VECTOR, 4, body), Barrier(), Store(Memory(1, Linear()), Ref(1, ())))
    buffers = (
        Buffer("x", f32, 8, Role.INPUT),
        Buffer("y", f32, 1, Role.OUTPUT),
        Buffer("t", f32, 4, Role.TEMPORARY, Space.SHARED, 2),
    )
    values = (Value("v", f32, (Register(4, True),)), Value("s", f32, ()))
    return Nest("sum", buffers, (), values, (Loop(0, "n0", Kind.BLOCK, 2, inner, hardware=0),))


class Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []
        self.texts: list[str] = []
        self.classes: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.links += [value or "" for name, value in attrs if name in ("src", "href")]
        self.classes += [value or "" for name, value in attrs if name == "class"]
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def events() -> list[Event]:
    times = [("measured", 4.0), ("better", 4.0), ("measured", 8.0), ("measured", 2.5), ("better", 2.5)]
    return [
        Event(100.0, "explore", {"kernel": "sum", "bound_ms": 1.0}),
        *(Event(101.0 + n, kind, {"time_ms": ms}) for n, (kind, ms) in enumerate(times)),
        Event(110.0, "progress", {"nodes": 3}),
    ]


def read(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    assert reader.open == []
    assert reader.links == []
    assert not re.search(r"https?://", text)
    return reader


def test_page() -> None:
    page = read(render_explore("sum <f32>", LINE, [StageView("sum", nest(), BOUND)], "if (a < b) {}\n", "C", events()))
    texts = [t.strip() for t in page.texts]
    assert {"sum <f32>", "bound by <arithmetic>", "dim_kind(<x>)", "if (a < b) {}", "Loop nest", "The search"} <= set(texts)
    assert "2.5 ms (measured), 1.5 GFLOP/s; the model allows no less than 2.0 ms." in texts
    assert [c for c in page.classes if c.startswith("loop ")] == ["loop block", "loop vector"]
    assert "statement barrier" in page.classes
    assert "v[n1] = load x[4*n0 + n1] if 4*n0 + n1 < 7 else 0.0" in texts
    assert "shared, 2 copies in turn" in texts
    assert "no" in texts  # the search is not complete


def test_page_of_several_kernels_without_events() -> None:
    stages = [StageView(name, nest(), BOUND) for name in ("first", "second")]
    page = read(render_explore("two", {**LINE, "time_ms": None}, stages, "", "CUDA C++"))
    assert {"first: loop nest", "second: what binds it"} <= set(page.texts)
    assert "No time; the model's bound is 2.0 ms." in page.texts
    assert "The search" not in page.texts


def test_machine_code_is_counted_by_kind() -> None:
    opcodes = {"FFMA": 1256, **{f"KIND{n}": 20 - n for n in range(17)}}
    stage = StageView("sum", nest(), BOUND, machine=MachineCode("sm_90", 135, 8, 32768, opcodes))
    text = re.sub("<[^>]+>", " ", render_explore("sum", LINE, [stage], "", "CUDA C++"))
    table = " ".join(text.partition("Machine code for sm_90")[2].split())
    total = 1256 + sum(20 - n for n in range(17))
    assert table.startswith(
        "registers of a thread 135 bytes spilled by a thread 8 bytes of shared memory of a block 32,768 "
        f"instructions in the text {total:,} FFMA 1,256 KIND0 20 KIND1 19 "
    )
    assert "KIND14 6 others 9 " in table and "KIND15" not in table


def test_chart() -> None:
    svg = chart(events())
    read(svg)
    assert svg.count("<circle") == 3
    assert "best 2.5 ms" in svg
    assert "bound of the space, 1 ms" in svg
    (path,) = re.findall(r'class="best" d="([^"]*)"', svg)
    assert path.count("V") == 1  # one improvement after the first time
    assert chart([]) == ""
    assert chart(events()[:1]) == ""
