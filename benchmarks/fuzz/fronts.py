"""What each front end is given: changed texts of the examples and of the library, and the command that reads them.

User files are run by Warploom, so nothing is put into them but tokens of the same texts, numbers and brackets; what stands in
them imports `warploom` and `math` alone, and `changed_python` refuses any text with a word that could do more.
"""

from __future__ import annotations

import ast
import json
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from benchmarks.fuzz.changes import NUMBERS, Vocabulary, changed, vocabulary

ROOT = Path(__file__).resolve().parents[2]
_SOURCE = ROOT / "src" / "warploom"
BUDGET_S = 0.25
"""CPU seconds that every command is given."""
_HARMFUL = re.compile(
    r"\b(?:import|exec|eval|open|os|sys|subprocess|shutil|input|compile|globals|breakpoint|exit|quit)\b|__\w+__"
)


@dataclass(frozen=True)
class Given:
    """One input: files by name, and the command line, in the folder of the files."""

    files: dict[str, str]
    argv: list[str]
    damaged: dict[str, bytes] = field(default_factory=dict[str, bytes])
    """Files that are no text."""

    def shown(self) -> str:
        texts = [f"--- {name}\n{text}" for name, text in self.files.items()]
        return "\n".join([" ".join(["warploom", *self.argv]), *texts])


def given(kind: str, case: int) -> Given:
    """Input `case` of a front end: the same in every run."""
    return FRONTS[kind](random.Random(f"{kind} {case}"))


# ------------------------------------------------------------ Python files


@dataclass(frozen=True)
class _Python:
    header: str
    """Never changed: what is imported."""
    body: str
    name: str


def changed_python(source: _Python, rng: random.Random, words: Vocabulary) -> str:
    """The text of a file whose body is changed; nine in ten are Python."""
    is_any = rng.random() < 0.1
    for _ in range(20):
        body = changed(source.body, rng, words)
        if not _HARMFUL.search(body) and (is_any or _is_python(body)):
            return source.header + body
    return source.header + source.body


def _is_python(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _functions(path: Path, header: str) -> list[_Python]:
    text = path.read_text(encoding="utf-8")
    found: list[_Python] = []
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef) and not node.decorator_list:
            body = ast.get_source_segment(text, node) or ""
            if not _HARMFUL.search(body):
                found.append(_Python(header, body + "\n", node.name))
    return found


_MATH = "from math import exp, gcd, inf\nPair = tuple[int, int]\n"


@cache
def _loops() -> tuple[list[_Python], Vocabulary]:
    found = _functions(_SOURCE / "scan/tasks/loops.py", _MATH) + _functions(ROOT / "examples/scan/real_life.py", _MATH)
    extra = (
        *NUMBERS,
        "and",
        "or",
        "not",
        "if",
        "else",
        "continue",
        "break",
        "return",
        "assert",
        "+=",
        "**",
        "//",
        "%",
        "<<",
        "float",
    )
    return found, vocabulary([f.body for f in found], extra, python=True)


@cache
def _operators() -> tuple[list[_Python], Vocabulary]:
    found = [f for part in ("accepted", "refused") for f in _functions(_SOURCE / f"scan/tasks/{part}.py", _MATH)]
    return found, vocabulary([f.body for f in found], NUMBERS, python=True)


_WL = "import warploom as wl\nfrom warploom import f32, i32, u32\n\n"
_COPY = """\
def spec(x, y):
    for i in range(8):
        y[i] = x[7 - i]

@wl.sketch(spec=spec, block=8, warp_size=8)
def reverse(x: wl.Global[f32, 8], y: wl.Global[f32, 8]):
    lane = wl.lane_id()
    y[lane] = wl.shfl(x[lane], wl.xform(lane, 8, name="from"), 8)
"""
_SHARED = """\
def spec(x, y, n):
    for i in range(n):
        y[i] = x[i] * 3 + (i % 4)

@wl.sketch(spec=spec, block=32, grid=wl.ceil_div(wl.size("n"), 32), complete_at={"n": 40})
def scale(x: wl.Global[i32, wl.size("n")], y: wl.Global[i32, wl.size("n")]):
    i = wl.global_id()
    buffer = wl.shared(i32, 32)
    if i < wl.size("n"):
        buffer[wl.lane_id()] = x[i]
    wl.sync()
    if i < wl.size("n"):
        y[i] = buffer[wl.lane_id()] * 3 + (i % 4)
"""
_ACCUMULATE = """\
K = 2

def spec(x, w, y):
    for i in range(4):
        for k in range(K):
            y[i] += w[k] * x[i + k]

@wl.sketch(spec=spec, block=4, warp_size=4)
def conv(x: wl.Global[f32, 4 + K - 1], w: wl.Constant[f32, K], y: wl.Global[f32, 4]):
    lane = wl.lane_id()
    inp = wl.register(f32, 2)
    wl.global_to_register(x, inp)
    out = wl.accumulator(f32, op="+", inner="*")
    for k in range(K):
        sent = inp[wl.part(2, lane, k, name="register")]
        got = wl.shfl(sent, wl.xform(lane, 4, k, name="lane"), 4)
        out.add(w[wl.xform(k, K, lane, name="weight")], got)
    y[lane] = out.value()
"""


@cache
def _sketches() -> tuple[list[_Python], Vocabulary]:
    found = [_Python(_WL, body, "") for body in (_COPY, _SHARED, _ACCUMULATE)]
    for name in ("conv1d_8_lanes", "matvec", "max_pool", "missing_sync"):
        text = (ROOT / f"examples/{name}.py").read_text(encoding="utf-8").split('if __name__ == "__main__"')[0]
        lines = text.split("\n")
        start = next(n for n, line in enumerate(lines) if line.startswith(("from warploom", "import warploom"))) + 2
        while lines[start].startswith(("from", "import")):
            start += 1
        found.append(_Python("\n".join(lines[:start]) + "\n", "\n".join(lines[start:]), ""))
    extra = (
        *NUMBERS,
        "wl.cond(lane, 4)",
        "wl.sync()",
        "wl.xform(lane, 8)",
        "wl.shared(f32, 8)",
        "range",
        "and",
        "or",
        "not",
        "+=",
    )
    return found, vocabulary([f.body for f in found], extra, python=True)


@cache
def _tensors() -> tuple[list[_Python], Vocabulary]:
    header = "import warploom as wl\nfrom warploom import f32\nfrom warploom.schedule.frontend import *\n"
    found: list[_Python] = []
    for part in ("dense", "rows", "stencils"):
        text = (_SOURCE / f"kernels/tensors/{part}.py").read_text(encoding="utf-8")
        for node in ast.parse(text).body:
            if isinstance(node, ast.FunctionDef) and any(
                isinstance(d, ast.Name) and d.id == "tensor" for d in node.decorator_list
            ):
                body = (ast.get_source_segment(text, node) or "").replace(" out[", " wl.out[").replace(" temp[", " wl.temp[")
                found.append(_Python(header, "@wl.tensor\n" + body + "\n", node.name))
    return found, vocabulary([f.body for f in found], NUMBERS, python=True)


_WALL = ["--json", "--budget", f"{BUDGET_S}s"]
"""Of `explore`, whose budget is wall time."""
_JSON = ["--json", "--budget", f"{BUDGET_S}s", "--memory", "800M"]


def _python(
    kind: Callable[[], tuple[list[_Python], Vocabulary]], argv: Callable[[random.Random, str], list[str]]
) -> Callable[[random.Random], Given]:
    def make(rng: random.Random) -> Given:
        sources, words = kind()
        source = rng.choice(sources)
        target = f"given.py:{source.name}" if source.name else "given.py"
        return Given({"given.py": changed_python(source, rng, words)}, argv(rng, target))

    return make


def _synth(rng: random.Random, target: str) -> list[str]:
    space = ["--space", rng.choice("123")] if rng.random() < 0.7 else []
    return ["synth", target, *_JSON, "--nodes", "60", *space]


def _emit(rng: random.Random, target: str) -> list[str]:
    return ["scan", "emit", target, "--target", rng.choice(("numpy", "cuda", "cub", "triton", "numba")), "--no-check", *_JSON]


def _explore(rng: random.Random, target: str) -> list[str]:
    """With the sizes that the function has where it is not changed."""
    body = next(s.body for s in _tensors()[0] if target.endswith(f":{s.name}"))
    names = sorted(set(re.findall(r"[a-z]+", " ".join(re.findall(r'"([^"]*)"', body)))))
    odd = rng.choice(names) if rng.random() < 0.2 else ""
    sizes = ",".join(f"{name}={rng.choice(NUMBERS) if name == odd else 64}" for name in names)
    return ["explore", target, "--choices", *_WALL, "--size", sizes, "--target", rng.choice(("sm_90", "sm_80"))]


# ------------------------------------------------------------ texts


@cache
def _pictures() -> tuple[list[str], Vocabulary]:
    from warploom.scan.networks import NAMED, network_text

    texts = [network_text(make(n)) for make in NAMED.values() for n in (4, 8)]
    return texts, vocabulary(texts, ("o-", "-*", "+-", "|", "|  ", "*-*", "o-*", "+", "o"))


@cache
def _programs() -> tuple[list[str], Vocabulary]:
    texts = [p.read_text(encoding="utf-8") for p in sorted((ROOT / "examples/dataflow").glob("*.swflow"))]
    blocks = (ROOT / "docs/dataflow.md").read_text(encoding="utf-8") + (ROOT / "docs/dataflow-sets.md").read_text(
        encoding="utf-8"
    )
    texts += re.findall(r"```swflow\n(.*?)```", blocks, re.S)
    names = re.findall(r"`(\w+(?:\{[^`]*\})?)`", blocks)
    return texts, vocabulary(texts, (*NUMBERS, *names, "?", "goal", "define", "fold(+)"))


@cache
def _ptx() -> tuple[list[str], Vocabulary]:
    from benchmarks.fuzz.kernels import random_case
    from tests.ptx.syntax.compiled import COMPILED
    from tests.ptx.syntax.spellings import ITEMS, REGISTERS, STATEMENTS, kernel

    texts = [COMPILED, *(random_case(n).text for n in range(6)), (ROOT / "examples/ptx/blur.ptx").read_text(encoding="utf-8")]
    texts += [*ITEMS.values(), *(kernel(REGISTERS, s) for s in STATEMENTS)]
    return texts, vocabulary(texts, NUMBERS)


def _picture(rng: random.Random) -> Given:
    texts, words = _pictures()
    text = changed(rng.choice(texts), rng, words)
    flags = [f for f in ("--backward", "--segmented", "--exclusive") if rng.random() < 0.1]
    return Given({"given.txt": text}, ["scan", "network", "given.txt", *_JSON, *flags])


def _program(rng: random.Random) -> Given:
    texts, words = _programs()
    text = changed(rng.choice(texts), rng, words)
    goal = rng.choice(([], [], ["--all"], ["--first"], ["--all", "--distinct"]))
    return Given({"given.swflow": text}, ["solve", "given.swflow", *_JSON, "--nodes", "60", *goal])


_PTX_COMMANDS = (
    ["check"], ["trace"], ["trace", "--extensions"], ["shuffle", "-o", "out.ptx", "--policy", "all"],
    ["run", "--grid", "1", "--block", "32", "--limit", "20000"], ["fmt", "-o", "out.ptx"],
    ["prove", "--spec", "spec.py:spec", "--grid", "1", "--block", "32"],
)  # fmt: skip
_PTX_SPEC = 'def spec(a: "f32[64]", b: "f32[64]", c=1, d=1, e=1, f=1, g=1):\n    for i in range(32):\n        b[i] = a[i]\n'


def _ptx_command(rng: random.Random) -> Given:
    texts, words = _ptx()
    command, *options = rng.choice(_PTX_COMMANDS)
    as_json = _JSON if command != "fmt" else _JSON[1:]
    files = {"given.ptx": changed(rng.choice(texts), rng, words), "spec.py": _PTX_SPEC}
    return Given(files, ["ptx", command, "given.ptx", *options, *as_json])


# ------------------------------------------------------------ options and records


_SETTINGS = ("dim_kind(mad.n3)=VECTOR", "size(n0)=4", "order(n1,n2)=OUTER", "x", "=", "a=b=c", "dim_kind()=LOOP", "")


def _setting(rng: random.Random) -> Given:
    words = vocabulary([*_SETTINGS, "m n k SEQUENTIAL UNROLL VECTOR THREAD BLOCK"], NUMBERS)
    options: list[str] = []
    for _ in range(rng.choice((1, 1, 2))):
        options += ["--set", changed(rng.choice(_SETTINGS), rng, words)[:300].replace("\0", "")]
    if rng.random() < 0.3:
        options += ["--size", f"{rng.choice('nmk')}={rng.choice(NUMBERS)[:200]}"]
    kernel = "matmul" if rng.random() < 0.02 else "axpy"  # the larger one takes a second
    return Given({}, ["explore", kernel, "--choices", *_WALL, "--target", "sm_90", *options])


_RECORDS = (
    {"case": "axpy", "kernel": "axpy", "target": "sm_90", "sizes": {"n": 1024}, "decisions": {"dim_kind(mad.n3)": "VECTOR"}},
    {"dim_kind(mad.n3)": "VECTOR", "size(n0)": "4"},
    {"v": 1, "decisions": {"axpy": {"size(n0)": "4"}}, "threads": 1},
)
_VALUES = (None, True, 0, -1, 10**30, 1.5, "", "x", [], [[]], {}, {"": None}, "7" * 5000, [1] * 50)


def changed_value(value: object, rng: random.Random) -> object:
    """A value of JSON with one part exchanged."""
    if isinstance(value, dict) and value and rng.random() < 0.8:
        found = dict(value)
        key = rng.choice(sorted(found))
        match rng.randrange(4):
            case 0:
                del found[key]
            case 1:
                found[rng.choice(("", "x", "key", "value", key + " ", "\ud800"))] = found.pop(key)
            case _:
                found[key] = changed_value(found[key], rng)
        return found
    if isinstance(value, list) and value and rng.random() < 0.7:
        place = rng.randrange(len(value))
        return [changed_value(v, rng) if n == place else v for n, v in enumerate(value)]
    return rng.choice(_VALUES)


def _text_of(value: object, rng: random.Random, words: Vocabulary) -> str:
    text = json.dumps(changed_value(value, rng))
    if rng.random() < 0.3:
        text = changed(text, rng, words)
    if rng.random() < 0.05:
        text = rng.choice(("[" * 100_000, '{"a":' * 5000, "NaN", "1" * 6000, "\ufeff{}", "null", '{"a": 1e999}'))
    return text


def _replay(rng: random.Random) -> Given:
    words = vocabulary([json.dumps(r) for r in _RECORDS], NUMBERS)
    text = _text_of(rng.choice(_RECORDS), rng, words)
    return Given(
        {"given.json": text}, ["explore", "axpy", "--replay", "given.json", "--target", "sm_90", "--size", "n=64", "--json"]
    )


def _journal(rng: random.Random) -> Given:
    """A journal of `bench scan`, whose line of the case is damaged."""
    from warploom.tools.bench import scan as scan_bench
    from warploom.tools.bench.run import _key

    name = "lift/total"
    case = scan_bench.scan_case(next(iter(scan_bench.select(name)), next(iter(scan_bench.select("lift/*")))))
    line = {
        "v": 1, "case": case.name, "status": "solved", "verdict": "proved", "seconds": 0.1, "wall_s": 0.1, "peak_mb": 60.0,
        "domain": "integers", "as_expected": True,
    }  # fmt: skip
    record = {"key": _key(case), "value": changed_value(line, rng)}
    text = json.dumps(record) + "\n"
    words = vocabulary([text], NUMBERS)
    if rng.random() < 0.3:
        text = changed(text, rng, words)
    return Given({"journal": text, "case": case.name}, ["JOURNAL"])


def _cache(rng: random.Random) -> Given:
    """A cache of `solve` whose answer, or file, is damaged."""
    line = {
        "status": "solved", "verdict": "proved", "goal": "best", "complete": True, "count": 1, "distinct": 1, "cost": [0, 3],
        "holes": {"to_send": "j"}, "visited": 3, "oracle": 1, "ineffectiveness": 1.0, "domain": "multisets of symbols",
    }  # fmt: skip
    value = _text_of(line, rng, vocabulary([json.dumps(line)], NUMBERS))
    return Given({"value": value, "damage": str(rng.randrange(8))}, ["CACHE"])


FRONTS: dict[str, Callable[[random.Random], Given]] = {
    "sketches": _python(_sketches, _synth),
    "loops": _python(_loops, lambda _, target: ["scan", "lift", target, *_JSON]),
    "operators": _python(_operators, lambda _, target: ["scan", "check", target, *_JSON]),
    "emits": _python(_loops, _emit),
    "pictures": _picture,
    "dataflow": _program,
    "ptx-commands": _ptx_command,
    "tensors": _python(_tensors, _explore),
    "settings": _setting,
    "replays": _replay,
    "journals": _journal,
    "caches": _cache,
}


def kinds() -> Sequence[str]:
    return tuple(FRONTS)
