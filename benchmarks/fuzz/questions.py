"""Questions about layouts, certificates, templates of scans and rows of the papers, changed."""

from __future__ import annotations

import json
import random
from functools import cache
from typing import Any

from benchmarks.fuzz.changes import NUMBERS, Vocabulary, changed, vocabulary
from benchmarks.fuzz.inputs import JSON, Given, PythonText, changed_json, changed_python, changed_value

_TILES = ("8x8:f32", "4x16:f16", "6x10:i8", "8x4:f64", "16x16:u4", "12x12:f32", "16x8:e4m3", "4x4:b128")
_ACCESSES = (
    "rows", "columns", "blocks:4x8", "blocks:2x2@any", "diagonals", "stride:3", "ldmatrix", "ldmatrix.trans", "stmatrix",
    "rows:64bit", "rows:128bit", "columns@any", "given.py:taken",
)  # fmt: skip
_MAPS = (
    "r * 8 + c", "r * 16 + (c ^ (r & 7))", "c ^ r", "r + 8 * c", "r * 9 + c", "r * 8 + (c + r) % 8",
    "r * 8 + c if r < 4 else r * 8 + (c ^ 1)",
    "(8,8):(8,1)", "((2,4),8):((1,16),2)", "Swizzle<2,0,3> o (8,8):(8,1)",
    "Swizzle<3,3,3> o smem_ptr[16b](unset) o (4,16):(16,1)",
    '{"offset": [[0, 1], [0, 2], [0, 4], [1, 0], [2, 0], [4, 0]]}', "given.py:place",
)  # fmt: skip
_TARGETS = ("cuda", "cute", "triton", "numba", "tilelang", "python")
_FUNCTIONS = PythonText(
    "",
    "def place(r, c):\n    return r * 8 + (c ^ (r & 7))\n\ndef taken(warp, lane, step):\n"
    "    return (step, lane) if warp == 0 and step < 8 and lane < 8 else None\n",
    "",
)


@cache
def _words() -> Vocabulary:
    extra = (*NUMBERS, "r", "c", "^", "&", "%", "//", ">>", "<<", "@any", ":128bit", "Swizzle<", ",", "(", ")", "x")
    return vocabulary([*_TILES, *_ACCESSES, *_MAPS, _FUNCTIONS.body], extra)


def _perhaps(text: str, rng: random.Random, share: float) -> str:
    """An argument of a command: changed in this share of all cases, without NUL, which no argument can have."""
    return changed(text, rng, _words())[:2000].replace("\0", "") if rng.random() < share else text


def _files(rng: random.Random) -> dict[str, str]:
    return {"given.py": changed_python(_FUNCTIONS, rng, _words()) if rng.random() < 0.5 else _FUNCTIONS.body}


def _accesses(rng: random.Random) -> list[str]:
    return [word for _ in range(rng.choice((1, 1, 2, 3))) for word in ("--access", _perhaps(rng.choice(_ACCESSES), rng, 0.4))]


def layout_question(rng: random.Random) -> Given:
    """`layout` with a changed tile, accesses and options."""
    options = _accesses(rng)
    if rng.random() < 0.3:
        options += ["--room", rng.choice(("0", "4", "any", rng.choice(NUMBERS)[:50]))]
    if rng.random() < 0.3:
        options += ["--emit", rng.choice(_TARGETS)]
    if rng.random() < 0.1:
        options += ["--arch", _perhaps("sm_80", rng, 0.7)]
    tile = _perhaps(rng.choice(_TILES), rng, 0.4)
    return Given(_files(rng), ["layout", *options, *JSON, "--", tile])


def map_question(rng: random.Random) -> Given:
    """`check-layout` with a changed map."""
    options = _accesses(rng) if rng.random() < 0.7 else []
    if not options or rng.random() < 0.3:
        options += ["--equal", _perhaps(rng.choice(_MAPS), rng, 0.5)]
    options += ["--tile", _perhaps(rng.choice(_TILES[:2]), rng, 0.1)]
    return Given(_files(rng), ["check-layout", *options, *JSON, "--", _perhaps(rng.choice(_MAPS), rng, 0.8)])


@cache
def _certificates() -> tuple[tuple[dict[str, Any], ...], Vocabulary]:
    from warploom.layout import access, certificate, layout, tile

    found: list[dict[str, Any]] = []
    for text, *names in (
        ("8x8:f32", "rows", "columns"),
        ("4x16:f16", "rows:128bit", "blocks:2x2@any"),
        ("8x32:f16", "ldmatrix"),
        ("6x10:i8", "rows", "stride:3", "diagonals"),
        ("32x32:f32", "rows", "columns", "blocks:4x8", "blocks:8x4", "blocks:16x2", "blocks:2x16", "diagonals"),
    ):
        given = tile(text)
        answer = layout(given, [access(name, given) for name in names])
        found.append(certificate(given, answer.accesses, answer.map, answer.prices, answer.no_linear))
    listed = {
        **found[0],
        "places": [*range(64)],
        "accesses": [{"name": "f", "wavefronts": 1, "least": 1, "requests": [[[[0], [1], []], [0]]], "groups": [[*range(32)]]}],
    }
    del listed["map"]
    return (*found, listed), vocabulary([json.dumps(f) for f in found], (*NUMBERS, *_ACCESSES, *_MAPS))


def certificate(rng: random.Random) -> Given:
    """A certificate with one part exchanged, or its text changed; the large one seldom, since it takes longest."""
    documents, words = _certificates()
    document = documents[rng.choice((0, 0, 1, 2, 3, 3, 5, 5, 4 if rng.random() < 0.1 else 0))]
    if rng.random() < 0.4:  # one that may still hold
        document = {**document, "accesses": [dict(entry) for entry in document["accesses"]]}
        match rng.randrange(4):
            case 0:
                document["map"] = _perhaps(str(document.get("map")), rng, 1)
            case 1:
                rng.choice(document["accesses"])["name"] = _perhaps(rng.choice(_ACCESSES), rng, 0.6)
            case 2:
                document["tile"] = {
                    **document["tile"],
                    rng.choice(("rows", "columns", "bits")): rng.choice((1, 4, 8, 16, 32, 64)),
                }
            case _:
                entry = rng.choice(document["accesses"])
                entry[rng.choice(("wavefronts", "least"))] = rng.choice((1, 2, 4, True, 2.0, "2"))
        text = json.dumps(document)
    else:
        text = changed_json({"v": 1, "certificate": document} if rng.random() < 0.2 else document, rng, words)
    return Given({"given.json": text}, ["verify-certificate", "given.json", *JSON])


_TEMPLATES = (
    "def spec(x):\n    return x * x - 2 * x - 3\n\ndef main(x):\n    assert spec(x) == (x + ??) * (x + ??)\n",
    "def g(x):\n    return x * ??\n\ndef main(x):\n    assert 2 * x == g(x)\n",
    "def f(x, y):\n    return max(x, y) + ??\n\ndef main(x, y):\n    assert (x + 1 if x > y else y + 1) == f(x, y)\n",
    "def main(x):\n    assert x + x == choose(x + x + 1, 2 * x, ??)\n",
    "def main(x, y):\n    assert (x | y) - x == y * ??\n",
)


@cache
def _template_words() -> Vocabulary:
    return vocabulary(_TEMPLATES, (*NUMBERS, "??", "choose(", "min(", "max(", "if", "else", "and", "or", "not", "//", "%", "<<"))


def template(rng: random.Random) -> Given:
    """A file of templates; its text is never run, so any change will do."""
    options = ["--unique"] if rng.random() < 0.2 else []
    text = changed(rng.choice(_TEMPLATES), rng, _template_words())
    return Given({"given.py": text}, ["scan", "template", "given.py:main", *options, *JSON])


_QUESTIONS = (
    ("swizzle-inventor", "table-1"), ("swizzleflow", "figure-9"), ("ptxasw", "table-2"), ("scans", "table-1"),
    ("telamon", "table-3"),
    ("scans",), ("telamon",), (),
)  # fmt: skip
_ANSWER = {
    "v": 1, "case": "", "status": "solved", "verdict": "proved", "seconds": 0.1, "wall_s": 0.1, "peak_mb": 60.0,
    "domain": "integers",
    "as_expected": True, "accumulates": 3, "time_ms": 0.5, "counted": "sass",
}  # fmt: skip


def papers(rng: random.Random) -> Given:
    """`paper` with changed names and patterns, and a damaged journal; `PAPER` runs no case."""
    names = [_perhaps(name, rng, 0.3) for name in rng.choice(_QUESTIONS)]
    options = ["--quick"] if rng.random() < 0.6 or not names else []
    if rng.random() < 0.4:
        options += ["--case", _perhaps(rng.choice(("*", "*/mult*", "table*", "[a-z]*", "x")), rng, 0.4)]
    value = changed_value(_ANSWER, rng)
    text = json.dumps(value)
    return Given(
        {"answer": text, "damage": str(rng.randrange(4))}, ["PAPER", *options, "--journal", "journal", "--json", "--", *names]
    )
