"""State that all batches of one launch share: memory regions, decoded code, findings, counts, the budget."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warploom.core import Diagnostic, UnsupportedError, UserError
from warploom.ptx.routine import Program, Routine
from warploom.ptx.simt.build import build
from warploom.ptx.simt.code import Access, Code, Group, Segment
from warploom.ptx.simt.counts import Counter
from warploom.ptx.simt.decode import decode_segment
from warploom.ptx.simt.findings import Coordinates, Findings, OutOfBudgetError, block_at, split_index
from warploom.ptx.simt.images import Image
from warploom.ptx.simt.indices import Indices, indices, may_wrap
from warploom.ptx.simt.proxies import has_readers
from warploom.ptx.simt.regions import Region, Regions, Views
from warploom.ptx.simt.threads import Value
from warploom.ptx.simt.variables import SharedLayout, initialise, shared_layout
from warploom.ptx.simt.windows import FUNCTIONS, GLOBAL_START_32, GLOBAL_START_64
from warploom.ptx.syntax import Directive

_MOST_LAUNCHES = 256
"""Sizes of launches that are remembered with a kernel."""
_GRID_BARRIER_BYTES = 64
"""Memory that CUDA gives a cooperative launch to wait in; its headers use the first eight bytes."""
KEPT = 16
"""Decoded kernels that are remembered."""


class Decoded:
    """Decoded form of one kernel, whatever it is launched with; filled as launches reach its parts."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.codes: dict[str, Code] = {}
        self.accesses: list[Access | None] = [None]
        """All memory accesses; the first ones by their number in race marks."""
        self.shared: SharedLayout | None = None
        self.indices: dict[str, Indices] = {}
        self.may_wrap: dict[object, bool] = {}
        """Whether an index may wrap, by the sizes of a launch."""
        self.is_read_asynchronously = has_readers(program)
        """Whether anything reads shared memory by the asynchronous proxy."""


_kept: dict[tuple[int, str, bool], Decoded] = {}


def _decoded(program: Program, kernel: str, wraps: bool) -> Decoded:
    """The same for the same program, among the last few."""
    key = (id(program), kernel, wraps)
    found = _kept.pop(key, None)
    if found is None:
        found = Decoded(program)
        while len(_kept) >= KEPT:
            del _kept[next(iter(_kept))]
    _kept[key] = found
    for access in found.accesses[1:]:
        assert access is not None
        access.region = None
    return found


class LaunchState:
    """State made once per launch; the kernel's parameters and the user's arrays are added before the first batch runs."""

    def __init__(
        self, program: Program, kernel: Routine, *, grid: tuple[int, int, int], block: tuple[int, int, int], dynamic_bytes: int,
        checks: bool, limit: int | None, counts: bool = False, merged: Mapping[int, int] | None = None, wraps: bool = False,
        cluster: tuple[int, int, int] | None = None, cooperative: bool = False, equal_stores_race: bool = True,
    ) -> None:  # fmt: skip
        self.program = program
        self.grid = grid
        self.block = block
        self.cluster = cluster or (1, 1, 1)
        self.cluster_blocks = self.cluster[0] * self.cluster[1] * self.cluster[2]
        self.is_explicit_cluster = cluster is not None
        self.block_threads = block[0] * block[1] * block[2]
        self.dynamic_bytes = dynamic_bytes
        self.checks = checks
        self.equal_stores_race = equal_stores_race
        self.limit = limit
        self.executed = 0
        """Instructions times threads."""
        self.clock = 0
        self._wraps = wraps
        self._decoded = _decoded(program, kernel.name, wraps)
        self.accesses = self._decoded.accesses
        self.is_read_asynchronously = self._decoded.is_read_asynchronously
        self.fences = np.zeros(grid[0] * grid[1] * grid[2], np.int64)
        """By block: time in its batch of the last fence."""
        self.specials: dict[tuple[str, int], Value] = {}
        """Special registers that all batches of as many blocks share, by name and number of blocks."""
        self.printed: list[str] = []
        """Texts that the kernel printed, one per call of a thread."""
        self.counter = Counter(merged or {}) if counts else None
        self.findings = Findings()
        is_narrow = program.module.directive("address_size").strip() == "32"
        self.address_bytes = 4 if is_narrow else 8
        self.regions = Regions(GLOBAL_START_32 if is_narrow else GLOBAL_START_64)
        self.workspace = self.regions.add("the grid's barrier", _GRID_BARRIER_BYTES).base if cooperative else 0
        """Address of the counter that blocks of a cooperative launch wait at; 0: they do not."""
        self._numbers = {name: number for number, name in enumerate(program.routines)}
        self.aliases = _aliases(program)
        self.entry = self.code(kernel.name)
        if self._decoded.shared is None:
            self._decoded.shared = shared_layout(program, kernel)
        self.shared = self._decoded.shared
        self.shared_bytes = self.shared.size_bytes + dynamic_bytes
        self.shared_stride = (self.shared_bytes + 15) // 16 * 16
        self.images: dict[int, Image] = {}
        """Textures and surfaces among the arguments, by their handles."""
        self.variables: dict[str, Region] = {}
        for variable in program.variables.values():
            if variable.space in ("global", "const"):
                is_const = variable.space == "const"
                region = self.regions.add(variable.name, variable.size_bytes, is_writable=not is_const, is_const=is_const)
                self.variables[variable.name] = region
        for variable in program.variables.values():
            if variable.name in self.variables and variable.initialiser is not None:
                initialise(variable, self.variables[variable.name], self.symbol)
        self.parameters = Region("kernel parameters", 0, 0, Views(0))
        """Replaced when the arguments are known."""
        self.parameter_offsets: dict[str, int] = {}

    def set_variable(self, name: str, content: NDArray[Any]) -> None:
        """Sets a variable of the module to what the host put there before the launch; UserError (LAUNCH_SYMBOL) where it does
        not fit."""
        region = self.variables.get(name)
        if region is None:
            known = ", ".join(self.variables) or "none"
            message = f"expected a .const or .global variable of the module, got {name}; it has: {known}"
            raise UserError(Diagnostic("LAUNCH_SYMBOL", message, fix="Name one of them."))
        data = np.ascontiguousarray(content).reshape(-1).view(np.uint8)
        if data.size != region.size:
            message = f"expected {region.size} bytes for {name}, got {data.size}"
            raise UserError(Diagnostic("LAUNCH_SYMBOL", message, fix="Give exactly as many elements as the variable has."))
        region.views.bytes[: region.size] = data

    def code(self, name: str) -> Code:
        """The decoded routine of that name."""
        found = self._decoded.codes.get(name)
        if found is None:
            found = self._decoded.codes[name] = build(
                self.program.routines[name],
                self._numbers[name],
                self.indices(self.program.routines[name]) if self._wraps else None,
            )
        return found

    def indices(self, routine: Routine) -> Indices:
        """Registers that hold indices."""
        found = self._decoded.indices.get(routine.name)
        if found is None:
            found = self._decoded.indices[routine.name] = indices(routine)
        return found

    def may_wrap(self) -> bool:
        """Whether the sizes of this launch, whose parameters are known, let an index of the kernel wrap."""
        routine = self.entry.routine
        numbers = {
            p.name: int(self.parameters.views.bytes[(at := self.parameter_offsets[p.name]) : at + 4].view(np.int32)[0])
            for p in routine.parameters if p.size_bytes == 4 and not p.dimensions and p.type[0] in "usb"
        }  # fmt: skip
        key = (routine.name, self.grid, self.block, *numbers.items())
        known = self._decoded.may_wrap
        if key not in known:
            if len(known) >= _MOST_LAUNCHES:
                known.clear()
            known[key] = may_wrap(routine, self.indices(routine), self.grid, self.block, numbers)
        return known[key]

    def routine_at(self, address: int) -> str | None:
        """Name of the function whose address this is."""
        number, rest = divmod(address - FUNCTIONS, 16)
        names = list(self._numbers)
        return names[number] if rest == 0 and 0 <= number < len(names) else None

    def text_at(self, address: int) -> str:
        """The zero-terminated text in global memory at the address; empty where there is none."""
        region = self.regions.at(address)
        if region is None:
            return ""
        return region.views.bytes[address - region.base : region.size].tobytes().partition(b"\0")[0].decode(errors="replace")

    def symbol(self, name: str) -> int | None:
        """Address of a module's variable or function in its own space."""
        if name in self.variables:
            return self.variables[name].base
        if name in self.shared.offsets:
            return self.shared.offsets[name]
        name = self.aliases.get(name, name)
        if name in self._numbers:
            return FUNCTIONS + 16 * self._numbers[name]
        return None

    def address_of(self, name: str, code: Code, index: int) -> int:
        """Address of a variable as the routine of an instruction sees it; its stack frame's variables are not asked for here."""
        routine = code.routine
        if name in routine.variables:
            found = self.shared.offsets.get(f"{routine.name}:{name}")
            if found is None and name in self.parameter_offsets and routine is self.entry.routine:
                found = self.parameters.base + self.parameter_offsets[name]
        else:
            found = self.symbol(name)
        if found is None:
            raise UnsupportedError(
                Diagnostic("PTX_UNSUPPORTED", f"expected the address of a variable or function with a body, got {name}",
                           code.routine.span(index))
            )  # fmt: skip
        return found

    def space_of(self, name: str, code: Code) -> str | None:
        """State space of a variable visible in the routine."""
        variable = code.routine.variables.get(name) or self.program.variables.get(name)
        return None if variable is None else variable.space

    def decode(self, code: Code, segment: Segment) -> None:
        """Fills in the segment's steps; UnsupportedError for an instruction that the interpreter does not know."""
        decode_segment(self, code, segment)

    def coordinates(self, thread: int) -> tuple[Coordinates, Coordinates]:
        """Block and thread in the block, from the padded index in the launch."""
        padded = (self.block_threads + 31) // 32 * 32
        return block_at(thread // padded, self.grid, self.cluster), split_index(thread % padded, self.block)

    def spend(self, code: Code, segment: Segment, group: Group) -> None:
        self.executed += (segment.end - segment.start) * group.size
        if self.counter is not None:
            self.counter.segment(code, segment, group)
        if self.limit is not None and self.executed > self.limit:
            raise OutOfBudgetError


def _aliases(program: Program) -> dict[str, str]:
    found: dict[str, str] = {}
    for item in program.module.items:
        if isinstance(item, Directive) and item.name == "alias":
            alias, _, name = item.arguments.partition(",")
            found[alias.strip()] = name.strip()
    return found
