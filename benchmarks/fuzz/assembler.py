"""Single instructions of PTX, changed at random: `ptx check` refuses none that ptxas takes, and most of those that it refuses.

ptxas takes some words that its own language does not have, which are left out: `.pred` beside the types, the classes of testp,
words that stand twice, special registers and predicates in vectors, pairs of halves as vectors, factors in f8 of other lengths,
`.col` of ldmatrix.
"""

from __future__ import annotations

import random
import re
import subprocess
import tempfile
from collections import Counter
from functools import cache
from pathlib import Path

from warploom.core import UserError
from warploom.gpu.toolchain import find_tool
from warploom.ptx.instructions import TYPES
from warploom.ptx.syntax import parse
from warploom.ptx.verify import WARNINGS, verify

LINES = 40
"""Instructions of one case."""
HEAD = """.version 9.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 pa) {
.reg .b32 r<9>; .reg .b16 h<9>; .reg .b64 d<9>; .reg .pred p<9>; .reg .b128 q<5>;
"""
TAIL = "\nL:\nret;\n}\n"
_FIRST = HEAD.count("\n") + 1
_OPERANDS = (
    "r7", "h7", "d7", "p3", "5", "0", "-1", "0f3f800000", "0d3ff0000000000000", "1.5", "4294967296", "_", "!p2", "%tid.x", "-r1",
)  # fmt: skip
_OF_WIDTH = {"8": "h", "16": "h", "32": "r", "64": "d"}
_CLASSES = frozenset({"finite", "infinite", "number", "notanumber", "normal", "subnormal"})
_ARITHMETIC = frozenset({"add", "sub", "mul", "fma", "neg", "abs", "min", "max", "ex2", "tanh"})
_SAID = re.compile(r"line (\d+); (?:error|fatal)\s*: (.*)")
_NARROW = re.compile(r"warning : (Program uses 32-bit address) on line '(\d+)'")
"""Which ptxas refuses from sm_90 on where the instruction is reached, once, at the end."""


@cache
def seeds() -> tuple[str, ...]:
    """Instructions that ptxas takes, one of each form."""
    return tuple(Path(__file__).with_name("instructions.txt").read_text().splitlines())


@cache
def _words() -> tuple[str, ...]:
    heads = (re.sub(r"^@\S+ ", "", s).split()[0] for s in seeds())
    return tuple(sorted({m for head in heads for m in head.split(".")[1:]} - _CLASSES))


def changed(seed: str, rng: random.Random) -> str:
    """The instruction with another type, a modifier more, less or elsewhere, or other operands."""
    guard, plain = _guarded(seed)
    head, _, operands = plain.partition(" ")
    parts = head.split(".")
    places = range(1, len(parts))
    types = [k for k in places if parts[k] in TYPES]
    way = rng.random()
    if way < 0.3 and types:
        k = rng.choice(types)
        parts[k] = rng.choice(sorted(TYPES))
        width = re.search(r"(8|16|32|64)\Z", parts[k])
        if width is not None and rng.random() < 0.5:
            operands = re.sub(r"\b[rhd](\d)", lambda m: _OF_WIDTH[width[1]] + m[1], operands)
    elif way < 0.42 and places:
        del parts[rng.choice(places)]
    elif way < 0.6:
        parts.insert(rng.randint(1, len(parts)), rng.choice(_words()))
    elif way < 0.7 and places:
        parts[rng.choice(places)] = rng.choice(_words())
    elif way < 0.85 and operands:
        operands = _rearranged(operands, rng)
    elif named := list(re.finditer(r"\b[rhdp]\d\b|\b\d+\b", operands)):
        one = rng.choice(named)
        operands = operands[: one.start()] + rng.choice(_OPERANDS) + operands[one.end() :]
    return f"{guard}{'.'.join(parts)} {operands}".strip()


def _rearranged(operands: str, rng: random.Random) -> str:
    """Two operands exchanged, one more or less, brackets more or less, or a vector with one element more or less."""
    found = [p.strip() for p in re.split(r",(?![^{]*\})", operands)]
    k = rng.randrange(len(found))
    match rng.randrange(5):
        case 0:
            m = rng.randrange(len(found))
            found[k], found[m] = found[m], found[k]
        case 1:
            del found[k]
        case 2:
            found.insert(k, found[k])
        case 3:
            found[k] = found[k][1:-1] if found[k].startswith("[") else f"[{found[k]}]"
        case _:
            elements = found[k].strip("{}").split(",")
            kept = elements[:-1] if len(elements) > 1 and rng.random() < 0.5 else [*elements, elements[0]]
            found[k] = "{" + ",".join(kept) + "}"
    return ", ".join(found)


def _guarded(text: str) -> tuple[str, str]:
    """The guard, and what is guarded."""
    found = re.match(r"@\S+ ", text)
    guard = found[0] if found is not None else ""
    return guard, text[len(guard) :]


def given(case: int) -> list[str]:
    """The instructions of one case."""
    rng = random.Random(case)
    found = (changed(rng.choice(seeds()), rng) for _ in range(LINES))
    return [line for line in dict.fromkeys(found) if not _is_strange(line)]


def _is_strange(line: str) -> bool:
    words = _guarded(line)[1].partition(" ")[0].split(".")
    if re.search(r"\{[^}]*(%|p\d)", line):
        return True
    if "{" in line and (words[0] in _ARITHMETIC or (words[0] == "mma" and not {"e4m3", "e5m2"}.isdisjoint(words))):
        return True
    others = [w for w in words[1:] if w not in TYPES]
    beside = [w for w in words[1:] if w in TYPES and w != "pred"]
    return (
        len({*others}) < len(others)
        or (words[0] == "ldmatrix" and "col" in words)
        or (words[0] == "mma" and len(words) - len(others) > 5)
        or ("pred" in words and bool(beside))
        or (words[0] == "testp") != any(map(_CLASSES.__contains__, words))
    )


def refused_by_ptxas(lines: list[str]) -> dict[str, str]:
    """The words of ptxas on those instructions that it refuses."""
    said: dict[str, str] = {}
    left = list(lines)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "k.ptx"
        while left:
            path.write_text(HEAD + "".join(f"{line};\n" for line in left) + TAIL)
            command = [str(find_tool("ptxas")), "-O0", "-arch=sm_90a", str(path), "-o", str(path.with_suffix(".cubin"))]
            ran = subprocess.run(command, capture_output=True, text=True, check=False)
            wrong = {int(m[1]) - _FIRST: m[2] for m in _SAID.finditer(ran.stderr)}
            wrong |= {int(m[2]) - _FIRST: m[1] for m in _NARROW.finditer(ran.stderr)}
            wrong = {k: text for k, text in wrong.items() if 0 <= k < len(left)}
            if not wrong:
                return said if ran.returncode == 0 else dict.fromkeys(left, "all of these together") | said
            said |= {left[k]: text for k, text in wrong.items()}
            left = [line for k, line in enumerate(left) if k not in wrong]
    return said


def refused_here(line: str) -> str:
    """The words of `ptx check` on an instruction; empty: none."""
    try:
        found = [d for d in verify(parse(f"{HEAD}{line};{TAIL}", "k.ptx")) if d.code not in WARNINGS]
    except UserError as error:
        found = list(error.diagnostics)
    return found[0].message if found else ""


def check(case: int, endings: Counter[str]) -> str:
    """The instructions that ptxas takes and `ptx check` refuses."""
    lines = given(case)
    said = refused_by_ptxas(lines)
    alarms: list[str] = []
    for line in lines:
        here = refused_here(line)
        endings[f"{'refused' if line in said else 'taken'}, {'refused here' if here else 'taken here'}"] += 1
        if here and line not in said:
            alarms.append(f"{line}: {here}")
    return "\n".join(alarms)
