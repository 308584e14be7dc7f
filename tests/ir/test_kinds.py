"""The catalogue of kinds of holes: what is derived from it."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest
from tests.synth.kernels import parse

import warploom as wl
from warploom.core import UserError
from warploom.ir import Hole, verify
from warploom.ir.swizzle.kinds import KINDS, documentation

DOCS = Path(__file__).parents[2] / "docs"


def test_the_documents_name_every_kind() -> None:
    assert documentation() in (DOCS / "language.md").read_text(), "docs/language.md: paste what documentation() says"
    limits = (DOCS / "limitations.md").read_text()
    assert f"({', '.join(f'`{name}`' for name in KINDS)})" in limits


@pytest.mark.parametrize("name", KINDS)
def test_a_word_is_public_and_takes_operands_a_name_and_fields_of_holes(name: str) -> None:
    kind = KINDS[name]
    assert getattr(wl, name) is kind.word
    assert {*inspect.signature(kind.word).parameters} <= {*kind.operands, "name", *Hole.__dataclass_fields__} - {"kind", "span"}
    with pytest.raises(UserError, match=rf"wl\.{name} was called outside of a sketch"):
        kind.word(1, 2, 3)


def test_a_kind_says_how_many_arguments_its_holes_have() -> None:
    text = "@hole('h', kind='xform', args=('t',), n=8)\n@kernel(block=(8, 1, 1), grid=(1, 1, 1), warp_size=4)\n"
    text += "def made(x: Global[i32, 8], y: Global[i32, 8] | out):\n    y[thread_id] = x[hole('h', thread_id)]\n"
    with pytest.raises(UserError, match="expected 2 arguments of hole h of kind xform, got 1"):
        verify(parse(text))
