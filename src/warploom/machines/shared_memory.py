"""Shared memory of GPUs as data: how many banks it has, and which lanes of an access go together.

NVIDIA's is that of `sm_NN`; AMD calls it LDS and Intel SLM. Widths of lanes of which nobody has published the groups are refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from warploom.core import Diagnostic, UserError
from warploom.machines.gpu import ARCHITECTURES, WARP_LANES, architecture

Groups: TypeAlias = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True, eq=False)
class SharedMemory:
    """Banks of 4 bytes, and lanes that are served one group after the other."""

    banks: int
    lanes: int
    """Lanes of one request: a warp, a wavefront, a subgroup."""
    reads: Mapping[int, Groups]
    """By bytes of a lane. Less than a word goes as a word does."""
    stores: Mapping[int, Groups]
    pairs: bool
    """Twice as many lanes go together where every two neighbours ask for the same place."""
    source: str

    def groups(self, size_bytes: int, *, is_store: bool = False) -> Groups:
        """UserError (ACCESS) for a width of which it is not known."""
        known = self.stores if is_store else self.reads
        if not known:
            raise UserError(Diagnostic("ACCESS", "expected loads, whose groups of lanes are published, got a store"))
        if max(4, size_bytes) not in known:
            widths = " or ".join(str(8 * size) for size in known)
            raise UserError(
                Diagnostic("ACCESS", f"expected lanes of {widths} bits, whose groups are published, got {8 * size_bytes} bits")
            )
        return known[max(4, size_bytes)]


def _even(lanes: int, groups: int) -> Groups:
    """Neighbouring lanes go together."""
    size = lanes // groups
    return tuple(tuple(range(at, at + size)) for at in range(0, lanes, size))


def _fours(*starts: tuple[int, ...]) -> Groups:
    """Groups of fours of neighbouring lanes."""
    return tuple(tuple(first + i for first in group for i in range(4)) for group in starts)


_WIDTHS = {4: _even(WARP_LANES, 1), 8: _even(WARP_LANES, 2), 16: _even(WARP_LANES, 4)}
NVIDIA = SharedMemory(
    banks=32, lanes=WARP_LANES, reads=_WIDTHS, stores=_WIDTHS, pairs=True,
    source="NVIDIA's developer forum, thread 77228, on compute capability 7",
)  # fmt: skip
_HALVES = {4: _even(64, 2), 8: _even(64, 4)}
_CDNA = SharedMemory(
    banks=32, lanes=64, pairs=False,
    reads=_HALVES | {16: _fours(
        (0, 20), (4, 16), (8, 28), (12, 24), (32, 52), (36, 48), (40, 60), (44, 56),
    )},
    stores=_HALVES | {16: _even(64, 8)},
    source="AMD, OpenCL Programming Guide (half wavefronts; quarters of 8-byte lanes) and Composable Kernel, LDS bank conflicts "
    "(ds_read_b128, ds_write_b128)",
)  # fmt: skip
_GEN9 = SharedMemory(
    banks=16, lanes=16, reads={4: _even(16, 1)}, stores={4: _even(16, 1)}, pairs=False,
    source="Intel, OpenCL developer guide for processor graphics: 16 banks at a granularity of 32 bits",
)  # fmt: skip

_MEASURED = "nod-ai/amd-shark-ai, docs/empirical-lds (latencies of ds_read of 32, 64 and 128 bits on {}; no stores)"
_CDNA4 = SharedMemory(
    banks=64, lanes=64, pairs=False, stores={},
    reads={4: _even(64, 1), 8: _even(64, 2), 16: _fours((0, 12, 20, 24), (32, 44, 52, 56), (4, 8, 16, 28), (36, 40, 48, 60))},
    source=_MEASURED.format("an MI350X") + "; triton-lang/triton#11365 has the groups of 128 bits, too",
)  # fmt: skip
_RDNA3 = SharedMemory(
    banks=32, lanes=32, pairs=False, stores={},
    reads={4: _even(32, 1), 8: _even(32, 2), 16: _fours((0, 20), (4, 16), (8, 28), (12, 24))},
    source=_MEASURED.format("a W7900, in waves of 32"),
)  # fmt: skip
_RDNA4 = SharedMemory(
    banks=32, lanes=32, pairs=False, stores={}, reads={4: _even(32, 1), 8: _even(32, 2), 16: _even(32, 4)},
    source=_MEASURED.format("an RX 9070 XT, in waves of 32")
    + "; triton-lang/triton#11365 quotes the groups of 128 bits of GFX12",
)  # fmt: skip

OTHERS: Mapping[str, SharedMemory] = {
    "gfx90a": _CDNA, "gfx942": _CDNA, "gfx950": _CDNA4, "gfx1100": _RDNA3, "gfx1201": _RDNA4, "gen9": _GEN9,
}  # fmt: skip
"""Shared memories by architecture, beside NVIDIA's."""


_FIX = "Name one of these. The banks and groups of lanes of others are not published as far as is known, and are not guessed."


def shared_memory(name: str) -> SharedMemory:
    """The shared memory of the architecture; UserError (UNKNOWN_ARCH) for one that is not in a table."""
    if name in OTHERS:
        return OTHERS[name]
    if name.startswith("sm_"):
        architecture(name)
        return NVIDIA
    expected = ", ".join((*ARCHITECTURES, *OTHERS))
    raise UserError(Diagnostic("UNKNOWN_ARCH", f"expected one of {expected}, got {name or 'none'}", fix=_FIX))
