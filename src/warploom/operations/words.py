"""Operations on the bits of machine words: one row for each. Sketches have them, tensor functions do not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class WordOperation:
    """One operation on words: what it takes, what it is called in CUDA C++."""

    name: str
    """In sketches, in the kernel IR and in terms."""
    words: int
    """Words that it takes, of one type; the result has it, too."""
    bits: tuple[int, ...] = (32,)
    """Widths of these words. A control goes with unsigned ones only."""
    control: str = ""
    """Name of the number that says which bits are taken; empty where there is none."""
    control_bits: int = 0
    """The bits of that number that count."""
    cuda: Mapping[int, str] = field(default_factory=dict[int, str])
    """CUDA's function, by the width of the words. None for lop3: compilers find it in `& | ~`."""
    ptx: str = ""
    """PTX's opcode."""


_ROWS = (
    WordOperation(name="popc", words=1, bits=(32, 64), cuda={32: "__popc", 64: "__popcll"}, ptx="popc"),
    WordOperation(
        name="byte_perm", words=2, control="selector", control_bits=0x7777, cuda={32: "__byte_perm"}, ptx="prmt"
    ),
    WordOperation(name="lop3", words=3, control="table", control_bits=0xFF, ptx="lop3"),
)  # fmt: skip

WORD_OPERATIONS: dict[str, WordOperation] = {row.name: row for row in _ROWS}
"""By name."""
