"""Products of matrices in tile registers (AMX) as C text: parts of a nest that they compute, and what a kernel needs around them.

Linux lends a process tile registers when it asks for them. A kernel asks at its first call; where that is refused, it runs
the nest with vectors, which the text has, too, and for compilers that have no such instructions.

Checked on an Emerald Rapids: sums of bytes are exact, those of bf16 bit by bit what `tests/schedule/cpu/test_bf16_sums.py` says.
Sources: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 1, chapter 18 (palette 1, the 64 bytes of a
configuration); Linux, Documentation/arch/x86/xstate.rst (permission).
"""

from __future__ import annotations

import ctypes
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from warploom.core.compiler import listed_instructions
from warploom.core.linear import Linear
from warploom.machines import TILE_INSTRUCTIONS, TILE_ROW_BYTES, TILE_ROWS, TILE_WORDS, TILES
from warploom.schedule.cpu.accesses import Accesses, pointer_text
from warploom.schedule.cpu.guards import guards_of
from warploom.schedule.cpu.registers import Registers
from warploom.schedule.nest import Loop, Nest, Node, StoredTotals, TileFactor, TileProducts, stored_totals

ALLOWED = "tiles_allowed"
START, END = "start_tiles();", "_tile_release();"
_WORD_BYTES = TILE_ROW_BYTES // TILE_WORDS

_ARCH_PRCTL, _REQUEST, _FEATURE = 158, 0x1023, 18
"""SYS_arch_prctl of x86-64, ARCH_REQ_XCOMP_PERM, XTILEDATA."""

SUPPORT = f"""#include <unistd.h>

/* Whether the system lends this process tile registers: ARCH_REQ_XCOMP_PERM of XTILEDATA, asked once. */
static int {ALLOWED}(void) {{
    static int known;
    int found = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (found == 0) {{
        found = syscall({_ARCH_PRCTL}, {_REQUEST:#x}, {_FEATURE}) == 0 ? 1 : -1;
        __atomic_store_n(&known, found, __ATOMIC_RELAXED);
    }}
    return found > 0;
}}

/* Gives all tiles of this thread {TILE_ROWS} rows of {TILE_ROW_BYTES} bytes (palette 1). */
static void start_tiles(void) {{
    struct {{ uint8_t palette, start_row, reserved[14]; uint16_t row_bytes[16]; uint8_t rows[16]; }} config = {{ .palette = 1 }};
    for (int n = 0; n < {TILES}; ++n) {{
        config.row_bytes[n] = {TILE_ROW_BYTES};
        config.rows[n] = {TILE_ROWS};
    }}
    __asm__ volatile("" : : "r"(&config) : "memory");  /* intrinsics of GCC say that 8 bytes are read */
    _tile_loadconfig(&config);
}}
"""


def condition_of(parts: Collection[TileProducts]) -> str:
    """A condition of the preprocessor that a text with these parts needs."""
    macros = sorted({"__linux__", *(part.instruction.macro for part in parts)})
    return " && ".join(f"defined({macro})" for macro in macros)


def multiplied_in_tiles() -> frozenset[str]:
    """Names under which Linux lists what this machine multiplies in tile registers; none where it does not lend them."""
    listed = {row.flag for row in TILE_INSTRUCTIONS.values()} & listed_instructions()
    return frozenset(listed) if listed and _is_lent() else frozenset()


def _is_lent() -> bool:
    """Asks the system for this process."""
    number, request, feature = (ctypes.c_long(n) for n in (_ARCH_PRCTL, _REQUEST, _FEATURE))
    return ctypes.CDLL(None).syscall(number, request, feature) == 0


@dataclass(frozen=True, slots=True)
class Tiles:
    """Prints parts of a nest."""

    nest: Nest
    parts: Mapping[int, TileProducts]
    """By their outermost loop."""
    accesses: Accesses
    registers: Registers
    variables: Mapping[int, str]
    """C names of loops."""

    def whole(self, nodes: Sequence[Node]) -> dict[int, StoredTotals]:
        """By positions of parts among these nodes, those whose neighbours they do with: totals that begin at zero and are stored
        as they are."""
        found: dict[int, StoredTotals] = {}
        for n, node in enumerate(nodes[1:-1], 1):
            if (part := self.part(node)) is not None:
                stored = stored_totals(self.nest, part, nodes[n - 1], nodes[n + 1])
                if stored is not None and all(map(self.accesses.scope.is_certain, guards_of((stored.store,)))):
                    found[n] = stored
        return found

    def part(self, node: Node) -> TileProducts | None:
        """The part whose outermost loop this is, where all of it runs."""
        found = self.parts.get(node.number) if isinstance(node, Loop) else None
        return found if found is not None and all(map(self.accesses.scope.is_certain, guards_of((node,)))) else None

    def print(self, part: TileProducts, stored: StoredTotals | None) -> None:
        """The totals into tiles, all steps of the sum, the totals back into the sum's registers; or zero into tiles, and the
        totals to where they are `stored`."""
        scope, indices = self.accesses.scope, self.accesses.scope.indices
        scope.line('__asm__ volatile("" ::: "memory");  /* intrinsics of GCC do not say that they read memory */')
        totals = list(self._totals(part) if stored is None else self._places(stored))
        for tile, place in totals:
            scope.line(f"_tile_loadd({tile}, {place});" if stored is None else f"_tile_zero({tile});")
        for loop in part.steps:
            variable = self.variables[loop.number]
            step = f"{variable} += {TILE_WORDS}" if loop is part.steps[-1] else f"++{variable}"
            scope.line(f"for (Index {variable} = 0; {variable} < {loop.size}; {step}) {{")
            scope.depth += 1
            indices.at[loop.number] = variable
        for line in self._products(part):
            scope.line(line)
        for loop in part.steps:
            scope.depth -= 1
            scope.line("}")
            del indices.at[loop.number]
        for tile, place in totals:
            scope.line(f"_tile_stored({tile}, {place});")

    def _products(self, part: TileProducts) -> Iterator[str]:
        """One step: all tiles of the first factor, then those of the second one by one."""
        rows, columns = len(part.rows.starts), len(part.columns.starts)
        for row in range(rows):
            yield f"_tile_loadd({part.totals + row}, {self._factor(part.rows, row)});"
        for column in range(columns):
            yield f"_tile_loadd({part.totals + rows}, {self._factor(part.columns, column)});"
            for row in range(rows):
                yield f"{part.instruction.intrinsic}({row * columns + column}, {part.totals + row}, {part.totals + rows});"

    def _factor(self, factor: TileFactor, number: int) -> str:
        """Where a tile begins, and the bytes from one row to the next."""
        indices = self.accesses.scope.indices
        start = {loop: Linear((), at) for loop, at in factor.starts[number]}
        place = indices.place(factor.offset.substituted(start))
        pointer = pointer_text(self.accesses.names[factor.buffer], place.text)
        return f"{pointer.text}, {factor.step * _WORD_BYTES}"

    def _places(self, stored: StoredTotals) -> Iterator[tuple[int, str]]:
        """Numbers of the tiles of totals, and where they are stored."""
        buffer = stored.store.memory.buffer
        step_bytes = stored.step * self.nest.buffers[buffer].dtype.size_bytes
        for tile, at in enumerate(stored.places):
            place = self.accesses.scope.indices.place(at)
            yield tile, f"{pointer_text(self.accesses.names[buffer], place.text).text}, {step_bytes}"

    def _totals(self, part: TileProducts) -> Iterator[tuple[int, str]]:
        """Numbers of the tiles of totals, and where their registers lie."""
        indices, lanes = self.accesses.scope.indices, part.lanes
        for row, down in enumerate(part.rows.starts):
            for column, beside in enumerate(part.columns.starts):
                point = dict((*down, *beside))
                indices.at.update(point)
                variable = self.registers.variable(part.sum.target, indices, lanes.number, lanes.size)
                yield row * len(part.columns.starts) + column, f"&{variable.name}, {part.total_step * TILE_ROW_BYTES}"
                for loop in point:
                    del indices.at[loop]
