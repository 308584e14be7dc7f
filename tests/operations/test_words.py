"""Rows of operations on words: the interpreter of PTX, which has rows of its own, knows their opcodes; CUDA their names."""

from typing import get_args, get_type_hints

import pytest

from warploom.gpu import compile_to_ptx, toolchain_available
from warploom.ir import Mixed
from warploom.operations import WORD_OPERATIONS
from warploom.ptx.instructions import ROWS


@pytest.mark.parametrize("name", WORD_OPERATIONS)
def test_an_opcode_is_one_of_ptx(name: str) -> None:
    row = WORD_OPERATIONS[name]
    assert row.name == name and row.words in (1, 2, 3) and bool(row.control) == bool(row.control_bits)
    assert any(known.opcode == row.ptx for known in ROWS)


@pytest.mark.skipif(not toolchain_available(), reason="needs the extra `cuda`")
def test_the_compiler_makes_that_opcode_of_the_function() -> None:
    for row in WORD_OPERATIONS.values():
        for bits, function in row.cuda.items():
            t = {32: "unsigned", 64: "unsigned long long"}[bits]
            words = ", ".join(f"x[{n}]" for n in range(row.words)) + (", 0x5140" if row.control else "")
            ptx = compile_to_ptx(f'extern "C" __global__ void k({t}* x) {{ x[3] = {function}({words}); }}')
            assert f"{row.ptx}.b{bits}" in ptx, function


def test_nodes_of_the_ir_are_rows_with_a_control() -> None:
    assert set(get_args(get_type_hints(Mixed)["op"])) == {name for name, row in WORD_OPERATIONS.items() if row.control}
