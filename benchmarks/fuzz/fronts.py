"""Inputs of each front end: changed texts of the examples and of the library, and the command that reads them."""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache

from benchmarks.fuzz.changes import NUMBERS, Vocabulary, changed, vocabulary
from benchmarks.fuzz.inputs import BUDGET, BUDGETS_S, JSON, ROOT, Given, PythonText, changed_python, functions_of
from benchmarks.fuzz.questions import certificate, layout_question, map_question, papers, template
from benchmarks.fuzz.records import damaged_cache, damaged_journal, replayed

_SOURCE = ROOT / "src" / "warploom"


def given(kind: str, case: int) -> Given:
    """Input `case` of a front end: the same in every run."""
    rng = random.Random(f"{kind} {case}")
    found, budget_s = FRONTS[kind](rng), rng.choice(BUDGETS_S)
    if BUDGET not in found.argv:
        return found
    return replace(found, argv=[f"{budget_s}s" if word == BUDGET else word for word in found.argv], budget_s=budget_s)


_MATH = "from math import exp, gcd, inf\nPair = tuple[int, int]\n"


@cache
def _loops() -> tuple[list[PythonText], Vocabulary]:
    found = functions_of(_SOURCE / "scan/tasks/loops.py", _MATH) + functions_of(ROOT / "examples/scan/real_life.py", _MATH)
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
def _operators() -> tuple[list[PythonText], Vocabulary]:
    found = [f for part in ("accepted", "refused") for f in functions_of(_SOURCE / f"scan/tasks/{part}.py", _MATH)]
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
def _sketches() -> tuple[list[PythonText], Vocabulary]:
    found = [PythonText(_WL, body, "") for body in (_COPY, _SHARED, _ACCUMULATE)]
    for name in ("conv1d_8_lanes", "matvec", "max_pool", "missing_sync"):
        text = (ROOT / f"examples/{name}.py").read_text(encoding="utf-8").split('if __name__ == "__main__"')[0]
        lines = text.split("\n")
        start = next(n for n, line in enumerate(lines) if line.startswith(("from warploom", "import warploom"))) + 2
        while lines[start].startswith(("from", "import")):
            start += 1
        found.append(PythonText("\n".join(lines[:start]) + "\n", "\n".join(lines[start:]), ""))
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
def _tensors() -> tuple[list[PythonText], Vocabulary]:
    header = "import warploom as wl\nfrom warploom import f32\nfrom warploom.schedule.frontend import *\n"
    found: list[PythonText] = []
    for part in ("dense", "rows", "stencils"):
        text = (_SOURCE / f"kernels/tensors/{part}.py").read_text(encoding="utf-8")
        for node in ast.parse(text).body:
            if isinstance(node, ast.FunctionDef) and any(
                isinstance(d, ast.Name) and d.id == "tensor" for d in node.decorator_list
            ):
                body = (ast.get_source_segment(text, node) or "").replace(" out[", " wl.out[").replace(" temp[", " wl.temp[")
                found.append(PythonText(header, "@wl.tensor\n" + body + "\n", node.name))
    return found, vocabulary([f.body for f in found], NUMBERS, python=True)


_WALL = ["--json", "--budget", f"{max(BUDGETS_S)}s"]
"""Options of `explore`, whose budget is wall time."""


def _python(
    kind: Callable[[], tuple[list[PythonText], Vocabulary]], argv: Callable[[random.Random, str], list[str]]
) -> Callable[[random.Random], Given]:
    def make(rng: random.Random) -> Given:
        sources, words = kind()
        source = rng.choice(sources)
        target = f"given.py:{source.name}" if source.name else "given.py"
        return Given({"given.py": changed_python(source, rng, words)}, argv(rng, target))

    return make


def _synth(rng: random.Random, target: str) -> list[str]:
    space = ["--space", rng.choice("123")] if rng.random() < 0.7 else []
    return ["synth", target, *JSON, "--nodes", "60", *space]


def _emit(rng: random.Random, target: str) -> list[str]:
    return ["scan", "emit", target, "--target", rng.choice(("numpy", "cuda", "cub", "triton", "numba")), "--no-check", *JSON]


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
def _descriptions() -> tuple[list[str], Vocabulary]:
    texts = [p.read_text(encoding="utf-8") for p in sorted((ROOT / "examples/papers/telamon").glob("*.choices"))]
    texts += re.findall(r"```choices\n(.*?)```", (ROOT / "docs/choices.md").read_text(encoding="utf-8"), re.S)
    return texts, vocabulary(texts, NUMBERS)


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
    return Given({"given.txt": text}, ["scan", "network", "given.txt", *JSON, *flags])


def _description(rng: random.Random) -> Given:
    texts, words = _descriptions()
    return Given({"given.choices": changed(rng.choice(texts), rng, words)}, ["choices", "given.choices", "--most", "20", *JSON])


def _program(rng: random.Random) -> Given:
    texts, words = _programs()
    text = changed(rng.choice(texts), rng, words)
    goal = rng.choice(([], [], ["--all"], ["--first"], ["--all", "--distinct"]))
    return Given({"given.swflow": text}, ["solve", "given.swflow", *JSON, "--nodes", "60", *goal])


_PTX_COMMANDS = (
    ["check"], ["trace"], ["trace", "--extensions"], ["shuffle", "-o", "out.ptx", "--policy", "all"],
    ["run", "--grid", "1", "--block", "32", "--limit", "20000"], ["fmt", "-o", "out.ptx"],
    ["prove", "--spec", "spec.py:spec", "--grid", "1", "--block", "32"],
)  # fmt: skip
_PTX_SPEC = 'def spec(a: "f32[64]", b: "f32[64]", c=1, d=1, e=1, f=1, g=1):\n    for i in range(32):\n        b[i] = a[i]\n'


def _ptx_command(rng: random.Random) -> Given:
    texts, words = _ptx()
    command, *options = rng.choice(_PTX_COMMANDS)
    as_json = JSON if command != "fmt" else JSON[1:]
    files = {"given.ptx": changed(rng.choice(texts), rng, words), "spec.py": _PTX_SPEC}
    return Given(files, ["ptx", command, "given.ptx", *options, *as_json])


# ------------------------------------------------------------ options


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


FRONTS: dict[str, Callable[[random.Random], Given]] = {
    "sketches": _python(_sketches, _synth),
    "loops": _python(_loops, lambda _, target: ["scan", "lift", target, *JSON]),
    "operators": _python(_operators, lambda _, target: ["scan", "check", target, *JSON]),
    "emits": _python(_loops, _emit),
    "pictures": _picture,
    "dataflow": _program,
    "choices": _description,
    "ptx-commands": _ptx_command,
    "tensors": _python(_tensors, _explore),
    "settings": _setting,
    "replays": replayed,
    "journals": damaged_journal,
    "caches": damaged_cache,
    "layouts": layout_question,
    "maps": map_question,
    "certificates": certificate,
    "templates": template,
    "papers": papers,
}
