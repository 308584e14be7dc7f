"""Layouts of registers: which element each warp, lane, register and slot inside a word holds.

Takes names (`striped`, `mma:m16n8k16:A:f16`), CuTe's texts and functions. Gives tables of elements (`Distributed`). Open
`held.py` first; `fragments.py` is the table of the matrix instructions.
"""

from warploom.layout.distributed.fragments import FORMS, fragment
from warploom.layout.distributed.held import BITS, WORD_BITS, Distributed, differing, distributed, from_items
from warploom.layout.distributed.reading import (
    distributed_of_array,
    distributed_of_function,
    distributed_of_text,
    needs_no_sizes,
    sizes_of_text,
)

__all__ = [
    "BITS", "FORMS", "WORD_BITS", "Distributed", "differing", "distributed", "distributed_of_array", "distributed_of_function",
    "distributed_of_text", "fragment", "from_items", "needs_no_sizes", "sizes_of_text",
]  # fmt: skip
