"""The list of instructions that the interpreter claims to have."""

import pytest

from warploom.ptx import SUPPORTED, is_supported
from warploom.ptx.syntax import Instruction, Name


@pytest.mark.parametrize(
    "title",
    [
        "add (integer)",
        "fma (half)",
        "shfl.sync",
        "atom",
        "ldmatrix",
        "cp.async",
        "mbarrier.init",
        "call",
        "cp.async.bulk.tensor",
        "barrier.cluster.wait",
        "wgmma.mma_async",
        "tcgen05.mma",
    ],
)
def test_listed(title: str) -> None:
    assert SUPPORTED[title]


@pytest.mark.parametrize("title", ["txq", "wgmma.mma_async.sp", "tcgen05.mma.ws", "multimem.st", "mma.sp.sync"])
def test_not_listed(title: str) -> None:
    assert not SUPPORTED[title]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("add.rn.ftz.f32", True),
        ("add.frob.f32", False),
        ("tld4.r.2d.v4.f32.f32", True),
        ("ld.global.v4.f32", True),
        ("nothing.b32", False),
    ],
)
def test_instructions(name: str, expected: bool) -> None:
    opcode, *modifiers = name.split(".")
    assert is_supported(Instruction(opcode, tuple(modifiers), (Name("%r1"), Name("%r2"), Name("%r3")))) is expected
