"""Mutated kernels through the whole tool: parsed, verified, emulated, rewritten, run; only UserError may come out.

`tests.ptx.fuzz.syntax` mutates small texts for the parser; here whole kernels are changed a little, so that most still parse.
"""

from __future__ import annotations

import random
import re

import numpy as np
from benchmarks.fuzz.kernels import random_case
from tests.ptx.fuzz.programs import random_program
from tests.ptx.fuzz.syntax import mutate

from warploom.core import UserError
from warploom.ptx import launch, lower, parse
from warploom.ptx.shuffle import ShuffleOptions, apply_all, shuffle
from warploom.ptx.symbolic import emulate
from warploom.ptx.verify import WARNINGS, verify

LIMIT = 200_000
"""Instructions times threads of a mutated kernel."""
_SEEDS = 40
"""Kernels of each kind that are mutated."""


def given(seed: int) -> str:
    """A kernel with one to three changes; words and operands are swapped more often than characters."""
    rng = random.Random(f"mutation {seed}")
    number = rng.randrange(_SEEDS)
    text = random_case(number).text if rng.random() < 0.5 else random_program(number).text
    if rng.random() < 0.3:
        return mutate(text, rng)
    for _ in range(rng.choice((1, 1, 2, 3))):
        text = rng.choice((_swap_lines, _swap_words, _swap_words, _drop_word, _other_modifier, _other_modifier, _copy_line))(
            text, rng
        )
    return text


def check(text: str) -> str:
    """How it ends: `refused`, `wrong` (the verifier), `unserved`, or the status of the launch."""
    try:
        module = parse(text)
    except UserError:
        return "refused"
    wrong = any(d.code not in WARNINGS for d in verify(module))
    try:
        program = lower(module)
        for routine in program.routines.values():
            emulate(routine)
        new = shuffle(module, ShuffleOptions(policy=apply_all, shared=True, max_rows=2)).text
    except UserError:
        assert wrong, "the verifier says nothing, but emulation or rewriting refuses"
        return "wrong"
    if new != text:
        parse(new)
    if wrong:
        return "wrong"
    kernels = program.kernels
    if not kernels:
        return "no kernel"
    args = [np.zeros(4096, np.uint32) if p.size_bytes == 8 else 3 for p in kernels[0].parameters]
    try:
        return launch(program, kernels[0].name, grid=1, block=(33, 1), args=args, limit=LIMIT).status
    except UserError:  # UnsupportedError is one
        return "unserved"


def _lines(text: str) -> list[str]:
    return text.split("\n")


def _swap_lines(text: str, rng: random.Random) -> str:
    lines = _lines(text)
    a, b = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[a], lines[b] = lines[b], lines[a]
    return "\n".join(lines)


def _copy_line(text: str, rng: random.Random) -> str:
    lines = _lines(text)
    lines.insert(rng.randrange(len(lines)), rng.choice(lines))
    return "\n".join(lines)


_WORD = re.compile(r"%?\$?\w+(?:\.\w+)*")


def _swap_words(text: str, rng: random.Random) -> str:
    """One word for another of the same text."""
    words = list(_WORD.finditer(text))
    place, other = rng.choice(words), rng.choice(words)
    return text[: place.start()] + other[0] + text[place.end() :]


def _drop_word(text: str, rng: random.Random) -> str:
    place = rng.choice(list(_WORD.finditer(text)))
    return text[: place.start()] + text[place.end() :]


_MODIFIERS = (
    "s8", "u8", "b8", "s16", "u16", "b16", "f16", "f16x2", "bf16", "s32", "u32", "b32", "f32", "s64", "u64", "b64", "f64",
    "b128", "pred", "v2", "v4", "v8", "lo", "hi", "wide", "sat", "ftz", "rn", "rz", "cc", "eq", "lt", "lo", "hs", "global",
    "shared", "local", "const", "param", "nc", "volatile", "relaxed", "acquire", "gpu", "cta", "sys", "wrap", "clamp", "l", "r",
    "and", "or", "xor", "uni", "sync",
)  # fmt: skip


def _other_modifier(text: str, rng: random.Random) -> str:
    """A modifier changed, added or dropped."""
    places = list(re.finditer(r"(?<=[a-z0-9])\.[a-z]\w*", text))
    place = rng.choice(places)
    new = rng.choice(("", f".{rng.choice(_MODIFIERS)}", f".{rng.choice(_MODIFIERS)}", place[0] + f".{rng.choice(_MODIFIERS)}"))
    return text[: place.start()] + new + text[place.end() :]
