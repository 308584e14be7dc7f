"""Loads, stores and reductions: addresses to regions, bounds, alignment, races (PTX ISA 9.7.9)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

from warploom.core import DType
from warploom.core.intervals import Interval
from warploom.core.linear import Linear
from warploom.ptx import TYPE_BITS
from warploom.ptx.syntax import Address, Instruction, Name
from warploom.synth.compiled.arithmetic import Arithmetic, NotFollowedError, register_kind
from warploom.synth.compiled.data import ADDRESSES, UNSIGNED, Data, Indexed, Joined, Undefined, Value
from warploom.synth.compiled.faults import Triple
from warploom.synth.compiled.gathers import NotGatheredError
from warploom.synth.compiled.memory import LOCAL_BASE, SHARED_BASE, AccessKind, Owner, Region
from warploom.synth.compiled.moving import LENGTH, ROUND, Slopes, SplitError
from warploom.synth.compiled.operands import Operands, Reader, width_of
from warploom.synth.compiled.placed import Of, Placed, PlacementError, shifted
from warploom.synth.compiled.schedule import Action
from warploom.synth.compiled.threads import Block, Lanes, Launch
from warploom.terms import Term, atom, is_element_behind

_SPACES = ("global", "shared", "local", "param", "const")
_PLAIN = frozenset({
    "global", "local", "param", "const", "nc", "v2", "v4", "v8", "weak", "ca", "cg", "cs", "lu", "cv", "wb", "wt", "u", "entry",
    "L1::no_allocate", "L1::evict_first", "L1::evict_last", "L1::evict_normal", "L1::evict_unchanged", "L2::64B", "L2::128B",
    "L2::256B", "L2::evict_first", "L2::evict_last", "L2::evict_normal", "unified",
})  # fmt: skip
_GATHERS = "a proof follows x[idx[i]] where the spec reads it too and nobody stores to x; run other kernels (`warploom ptx run`)"
_WINDOWS = {"shared": SHARED_BASE, "local": LOCAL_BASE}
_Place: TypeAlias = int | tuple[int, Of]
"""A thread, or a place for all of them."""


class Transfers:
    """Steps for instructions that access memory."""

    def __init__(self, launch: Launch, operands: Operands, arithmetic: Arithmetic) -> None:
        self.launch = launch
        self.operands = operands
        self.arithmetic = arithmetic

    def load(self, instruction: Instruction, index: int) -> Action:
        self._check_modifiers(instruction, index)
        type_name = width_of(instruction, "b32")
        count = TYPE_BITS[type_name]
        space = space_of(instruction)
        targets = self.operands.pieces(instruction.operands[0])
        writers = [self.operands.writer(o, index) for o in targets]
        extend = [self.extension(type_name, o) for o in targets]
        size = count // 8
        if space == "param":
            return self._load_parameter(instruction, index, size)
        addresses = self.operands.address(instruction.operands[1], index, of_data=True)
        is_constant = "nc" in instruction.modifiers

        whole = size * len(writers)

        def run(block: Block, lanes: Lanes) -> None:
            places = addresses(block, lanes)
            self.check_all_steps(places, whole)
            together: dict[_Place, list[int]] = {}
            keys = [_place_of(address, t, space) for t, address in zip(lanes, places, strict=True)]
            for n, key in enumerate(keys):
                together.setdefault(key, []).append(n)
            owners: list[tuple[tuple[Triple, int], Owner]] = []
            values_of: dict[_Place, list[Value]] = {}
            for key, group in together.items():
                address, t = places[group[0]], lanes[group[0]]
                if isinstance(address, Indexed):
                    region, gathered = self._gathered(address, space, size, len(writers), index)
                    region.is_read_only = region.is_read_only or is_constant
                    values_of[key] = list(gathered)
                    continue
                assert isinstance(address, int)
                region, offset = self.place(block, t, address, space, whole, "load", index)
                if region.check is not None:
                    for n in group[1:]:
                        self.place(block, lanes[n], address, space, whole, "load", index)
                if is_constant and region.is_written:
                    message = f"expected {region.name} not to be written, since ld.global.nc reads it in the same launch"
                    raise block.fault("read-only", message, index, thread=t, what="load", element=region.name)
                region.is_read_only = region.is_read_only or is_constant
                if region.is_tracked:
                    owners = owners or [((block.position, u), block.owner(u, index)) for u in lanes]
                    if not region.read(offset, whole, [owners[n] for n in group]):
                        for n in group:
                            self.remember(block, lanes[n], region, offset, whole, "load", index)
                step = self.step_of(address)
                found = [region.load(offset + k * size, size, self.launch.data) for k in range(len(writers))]
                found = [self.used(region, address, value, index) for value in found]
                values_of[key] = [self.moved(value, step, index) for value in found] if step else found
            rows = [values_of[key] for key in keys]
            for k, (writer, extension) in enumerate(zip(writers, extend, strict=True)):
                column = [row[k] for row in rows]
                writer(block, lanes, column if extension is None else [extension(v) for v in column])

        return run

    def _gathered(self, address: Indexed, space: str, size: int, count: int, index: int) -> tuple[Region, list[Term]]:
        """The elements at an index from data: of an array that nobody writes, where the function reads it, too, or inside."""
        launch, base, gathers = self.launch, address.base, self.launch.gathers
        region = launch.memory.at(base) if space in ("global", "generic", "const") else None
        known = [(name, times) for name, times in base.of if name in launch.places.variables]
        moving = tuple((name, times) for name, times in base.of if name in launch.places.moving.last)
        try:
            if gathers is None or region is None or known != [(region.name, 1)] or len(known) + len(moving) < len(base.of):
                raise NotGatheredError("an address that depends on data")
            if region.is_written or region.is_constant != (space == "const"):
                raise NotGatheredError(f"{region.name} read at an index from data and written")
            offset = launch.data.as_int(address.offset, UNSIGNED[64])
            place, inside = gathers.found(region.name, int(base) - region.base, offset, launch.data.kinds, size, count)
            use, step = self._followed_gather(region, moving, place, inside, size, count, index)
        except (NotGatheredError, PlacementError) as error:
            raise launch.unsupported(
                f"expected reads that the spec makes, at indices inside the array, got {error}", index, _GATHERS
            ) from error
        region.is_gathered = True
        if size * count > region.align:
            self.need(region, size * count, index)
        dtype, terms = gathers.dtype(region.name), gathers.elements(use, place, step, count)
        for term in terms:
            if is_element_behind(term):
                launch.data.made(term.args[0], dtype)
        return region, [launch.data.made(term, dtype) for term in terms]

    def _followed_gather(
        self, region: Region, of: Of, place: Linear[Term], inside: Interval | None, size: int, count: int, index: int
    ) -> tuple[str, int]:
        """The use of the array, and elements by which the place moves with the rounds of a loop. It is inside the array in all
        blocks of the box, and in all rounds."""
        launch, moving = self.launch, self.launch.places.moving
        slopes = {name: slope for name, slope in moving.slopes(of, 64).items() if moving.last[name]}
        if inside is None and not moving.last:  # the spec reads it
            return region.name, 0
        if inside is None or region.grows or any(slope % (size * count) for slope in slopes.values()):
            raise NotGatheredError(f"places in {region.name} that do not move by whole elements")
        step = slopes.pop(ROUND, 0)
        whole, ends = size * count, (int(inside.low) * size, int(inside.high) * size)
        for end in ends if step else ():
            self._check_steps(region, step, end, whole, slopes)
        if self._rooms(region, ends[0], whole, slopes)[0] < 0 or self._rooms(region, ends[1], whole, slopes)[1] < 0:
            raise NotGatheredError(f"places {place} in {region.name}, which may lie outside of it")
        if not moving.last:
            return region.name, 0
        use = launch.use_of(region.name, slopes)
        if use is None:
            raise NotGatheredError(f"accesses to {region.name} that move in too many ways")
        launch.loaded.add(region.name)
        return use, step // size

    def extension(self, type_name: str, target: object) -> partial[Value] | None:
        """The function that fills a register wider than the loaded value: zeros, or the sign for .sN."""
        registers = self.launch.routine.registers
        own = TYPE_BITS.get(registers.get(target.text, type_name), 0) if isinstance(target, Name) else 0
        count = TYPE_BITS[type_name]
        if own <= count:
            return None
        return partial(self._extended, count=count, own=own, is_signed=type_name[0] == "s")

    def _extended(self, value: Value, *, count: int, own: int, is_signed: bool) -> Value:
        source = register_kind(f"{'s' if is_signed else 'u'}{count}")
        if value.__class__ in ADDRESSES:
            raise NotFollowedError("an address in memory, read as a wider word")
        return self.arithmetic.convert(register_kind(f"{'s' if is_signed else 'u'}{own}"), source, None)(value)

    def _load_parameter(self, instruction: Instruction, index: int, size: int) -> Action:
        address = instruction.operands[1]
        if not (isinstance(address, Address) and isinstance(address.base, Name) and address.base.text in self.launch.parameters):
            raise self.launch.unsupported("expected a parameter of the kernel in ld.param", index)
        region = self.launch.parameters[address.base.text]
        start = address.offset
        count = len(self.operands.pieces(instruction.operands[0]))
        if not 0 <= start <= region.size_bytes - size * count:
            raise self.launch.unsupported(f"expected a load inside {address.base.text}, got one at byte {start}", index)
        writers = [self.operands.writer(o, index) for o in self.operands.pieces(instruction.operands[0])]
        extend = [self.extension(width_of(instruction, "b32"), o) for o in self.operands.pieces(instruction.operands[0])]

        def run(block: Block, lanes: Lanes) -> None:
            for k, (writer, extension) in enumerate(zip(writers, extend, strict=True)):
                value = region.load(start + k * size, size, self.launch.data)
                writer(block, lanes, [value if extension is None else extension(value)] * len(lanes))

        return run

    def store(self, instruction: Instruction, index: int) -> Action:
        self._check_modifiers(instruction, index)
        type_name = width_of(instruction, "b32")
        size = TYPE_BITS[type_name] // 8
        space = space_of(instruction)
        addresses = self.operands.address(instruction.operands[0], index)
        pieces = self.operands.pieces(instruction.operands[1])
        readers = [self.operands.reader(o, type_name, index) for o in pieces]
        names = [o.text for o in pieces if isinstance(o, Name)]
        data = self.launch.data

        def run(block: Block, lanes: Lanes) -> None:
            if space not in ("shared", "local") and len(names) == len(readers):
                commons = [block.alike[name] for name in names if name in block.alike]
                if len(commons) == len(names):
                    lanes = self._store_common(block, lanes, addresses(block, lanes), commons, size, space, index)
            for name in names if space == "shared" else ():
                block.name_common(name)
            columns = [reader(block, lanes) for reader in readers]
            for n, (t, address) in enumerate(zip(lanes, addresses(block, lanes), strict=True)):
                assert isinstance(address, int)
                region, offset = self.place(block, t, address, space, size * len(readers), "store", index)
                self._check_not_gathered(region, index)
                if (reason := _only_read(region)) is not None:
                    message = f"expected a store to memory that can be written, {reason}"
                    raise block.fault("read-only", message, index, thread=t, what="store", element=region.name)
                if region.is_tracked:
                    whole = size * len(readers)
                    places = [(offset + k * size, c[n]) for k, c in enumerate(columns)]
                    is_same = partial(_hold, region, places, size, index, data)
                    self.remember(block, t, region, offset, whole, "store", index, is_same=is_same)
                for k, column in enumerate(columns):
                    region.store(offset + k * size, size, column[n], index, data)
                block.stored(region, offset, size * len(columns), t, index)

        return run

    def _store_common(
        self, block: Block, lanes: Lanes, addresses: list[Value], commons: list[list[Value]], size: int, space: str, index: int
    ) -> Lanes:
        """Leaves out the stores of threads whose representatives store, too; gives the threads whose stores are left."""
        translations = self.launch.translations
        assert translations is not None
        whole, place_of = size * len(commons), {t: a for t, a in zip(lanes, addresses, strict=True) if isinstance(a, int)}
        left: Lanes = []
        for t in lanes:
            group = translations.group[t]
            own = translations.representatives[group]
            values = [c[group] for c in commons]
            terms = [v for v in values if isinstance(v, Term)]
            if t == own or own not in place_of or len(terms) < len(values) or terms[0] not in self.launch.data.kinds:
                left.append(t)
                continue
            region, offset = self.place(block, t, place_of[t], space, whole, "store", index)
            by = int(place_of[t]) - int(place_of[own])
            if self.launch.memory.at(region.base) is not region:
                left.append(t)
                continue
            if region.name not in translations.moves and region.element_bytes == size:
                places = {u: (int(a) - region.base) // size for u, a in place_of.items()}
                translations.learn(region.name, places)
            far = translations.is_far(region.name, t, by, size)
            if (
                not far
                or _only_read(region) is not None
                or not all(
                    translations.imply(region, offset + k * size, size, by, term, t, index) for k, term in enumerate(terms)
                )
            ):
                left.append(t)
                continue
            self.remember(block, t, region, offset, whole, "store", index)
        return left

    def reduce(self, instruction: Instruction, index: int) -> Action:
        """red, atom: the operation applied to memory; any order is as good, so what memory held before is undefined."""
        type_name = width_of(instruction, "b32")
        kind = register_kind(type_name)
        space = space_of(instruction)
        is_plain = not any(m in ("v2", "v4", "v8", "noftz", "cas", "exch", "inc", "dec") for m in instruction.modifiers)
        name = next((m for m in instruction.modifiers if m in ("add", "min", "max", "and", "or", "xor")), "")
        if self.launch.places.moving.last:
            raise self.launch.unsupported("expected no atomic operation where one block stands for several", index)
        if not name or not is_plain:
            raise self.launch.unsupported(f"expected add, min, max, and, or, xor on memory, got {instruction.name}", index)
        is_wide = space != "shared" and not {"cta", "cluster"}.intersection(instruction.modifiers)
        has_order = kind.is_float or name in ("min", "max")
        update = f"{name}.{kind}" if has_order else f"{name}.b{kind.bits}"
        size = kind.bits // 8
        compute = self._reduction(name, kind)
        operands = instruction.operands
        write = self.operands.writer(operands[0], index) if instruction.opcode == "atom" else None
        addresses = self.operands.address(operands[-2], index)
        reader = self.operands.reader(operands[-1], type_name, index)
        data = self.launch.data
        old_value = Undefined(
            "an atomic operation's old content, which depends on the order of threads", self.launch.span(index).line
        )

        def run(block: Block, lanes: Lanes) -> None:
            values = reader(block, lanes)
            for t, address, value in zip(lanes, addresses(block, lanes), values, strict=True):
                assert isinstance(address, int)
                region, offset = self.place(block, t, address, space, size, "reduction", index)
                self._check_not_gathered(region, index)
                if (reason := _only_read(region)) is not None:
                    message = f"expected an update of memory that can be written, {reason}"
                    raise block.fault("read-only", message, index, thread=t, what="reduction", element=region.name)
                self.remember(block, t, region, offset, size, "update", index, update=update, is_wide=is_wide)
                old = region.load(offset, size, data)
                region.store(offset, size, compute(old, value), index, data)
                block.stored(region, offset, size, t, index)
            if write is not None:
                write(block, lanes, [old_value] * len(lanes))

        return run

    def _check_not_gathered(self, region: Region, index: int) -> None:
        if region.is_gathered:
            message = f"expected no store to {region.name}, of which any element may have been read at an index from data"
            raise self.launch.unsupported(message, index, _GATHERS)

    def _reduction(self, name: str, kind: DType) -> Callable[[Value, Value], Value]:
        if kind.is_float and name == "add":
            return self.arithmetic.real("+", kind)
        return self.arithmetic.extreme(name, kind) if name in ("min", "max") else self.arithmetic.signless(name, kind)

    # ------------------------------------------------------------ addresses

    def place(self, block: Block, thread: int, address: int, space: str, size: int, what: str, index: int) -> tuple[Region, int]:
        """Region and byte offset of an access. FaultError when it is misaligned or lies in no variable."""
        place = address
        own = space
        if space == "generic" and address >= SHARED_BASE:
            own = "local" if address >= LOCAL_BASE else "shared"
            place = address - _WINDOWS[own]
        if own == "shared":
            region = block.shared.at(place)
        elif own == "local":
            region = block.local[thread].at(place) if block.local else None
        else:
            region = self.launch.memory.at(place)
        if region is not None and region.is_constant != (own == "const") and own != "generic":
            message = f"expected a {what} of the space that {region.name} lies in, got one of .{own}"
            raise block.fault("out of bounds", message, index, thread=thread, what=what, element=region.name)
        offset = place - region.base if region is not None else 0
        if region is None or not 0 <= offset <= region.size_bytes - size:
            where = f"byte {offset} of {region.name}, which has {region.size_bytes}" if region else f"address {address:#x}"
            message = f"expected a {what} inside an array, got one of {size} bytes at {where}"
            raise block.fault("out of bounds", message, index, thread=thread, what=what, element=region.name if region else "")
        if place % size:
            message = f"expected an address that is a multiple of {size}, got byte {offset} of {region.name}"
            raise block.fault("misaligned", message, index, thread=thread, what=what, element=region.name)
        if size > region.align:
            self.need(region, size, index)
        if region.check is not None:
            region.check(block, thread, region, offset, size, what, index)
        if self.launch.translations is not None:
            self.launch.translations.settle_near(region, offset, size)
        if own == "shared" and isinstance(address, Placed) and address.of == ((region.name, 1),):
            return region, offset  # in every block and round of a loop the same place
        if self.launch.places.moving.last:
            self._follow(block, thread, region, address, offset, size, what, index)
        self._check_variable(block, thread, address, region, what, index)
        return region, offset

    def _check_variable(self, block: Block, thread: int, address: int, region: Region, what: str, index: int) -> None:
        """The address is one of this variable wherever variables lie, and not only as this run places them."""
        known = self.launch.places.variables
        of = tuple((n, c) for n, c in address.of if n in known) if isinstance(address, Placed) else ()
        if of == ((region.name, 1),):
            return
        if len(of) == 1 and of[0][1] == 1:
            message = f"expected a {what} inside {of[0][0]}, got one far outside of it"
            raise block.fault("out of bounds", message, index, thread=thread, what=what, element=of[0][0])
        raise self.launch.unsupported(
            f"expected an address in one variable, got a {what} whose address depends on where variables lie in memory", index
        )

    def check_aligned(self, block: Block, thread: int, region: Region, address: int, size: int, index: int) -> None:
        """FaultError for a load whose address is no multiple of `size` in some block, though it reads fewer bytes."""
        last = self.launch.places.moving.last
        slopes = [c for n, c in address.of if last.get(n)] if isinstance(address, Placed) else []
        if any(number % size for number in (address, *slopes)):
            message = f"expected an address that is a multiple of {size}, got byte {address - region.base} of {region.name}"
            message += ", or of a later block" if slopes else ""
            raise block.fault("misaligned", message, index, thread=thread, what="load", element=region.name)
        if size > region.align:
            self.need(region, size, index)

    def _follow(
        self, block: Block, thread: int, region: Region, address: int, offset: int, size: int, what: str, index: int
    ) -> None:
        """The access in all blocks of the box: inside and aligned, and as far on as the block's other accesses to the array."""
        launch, moving = self.launch, self.launch.places.moving
        of = tuple((n, c) for n, c in address.of if n not in launch.places.variables) if isinstance(address, Placed) else ()
        try:
            slopes = {name: slope for name, slope in moving.slopes(of, 64).items() if moving.last[name]}
        except PlacementError as error:
            raise launch.unsupported(f"expected an address that moves evenly from block to block, got {error}", index) from error
        step = slopes.pop(ROUND, 0)
        is_global = launch.memory.at(region.base) is region
        if slopes and not is_global:  # their words have 32 bits: a number that falls is no slope of 64
            raise launch.unsupported("expected places in shared and local memory that do not depend on the block", index)
        if launch.rounds is not None and launch.rounds.is_general:
            if is_global and what != "load":
                raise SplitError(ROUND, 0)
            if step and (not is_global or step % size):
                raise SplitError(ROUND, 0)
            self._check_steps(region, step, offset, size, slopes)
        before, behind = self._rooms(region, offset, size, slopes)
        if before < 0 or behind < 0:
            at = before if before < 0 else moving.range(offset, slopes)[1]
            message = f"expected a {what} inside an array, got one of {size} bytes at byte {at} of "
            message += f"{region.name}, which has {region.size_bytes}{' or more' if region.grows else ''}, in a later block"
            raise block.fault("out of bounds", message, index, thread=thread, what=what, element=region.name)
        if any(slope % size for slope in slopes.values()):
            message = f"expected an address that is a multiple of {size} in every block, got one in {region.name} that is not"
            raise block.fault("misaligned", message, index, thread=thread, what=what, element=region.name)
        if not is_global:
            return
        use = launch.use_of(region.name, slopes)
        if use is None or (use != region.name and (what != "load" or region.is_written)):
            known = launch.moves[region.name]
            message = f"expected all accesses to {region.name} to move alike from block to block, got {known} and {slopes} bytes"
            raise launch.unsupported(message, index)
        (launch.loaded if what == "load" else launch.stored).add(region.name)

    def _rooms(self, region: Region, offset: int, size: int, slopes: Slopes) -> tuple[int, int]:
        """Bytes of the array before and behind an access, the least in all blocks of the box."""
        moving = self.launch.places.moving
        behind = {name: region.grows.get(name, 0) - slopes.get(name, 0) for name in {**slopes, **region.grows}}
        return moving.range(offset, slopes)[0], moving.range(region.size_bytes - size - offset, behind)[0]

    def used(self, region: Region, address: int, value: Value, index: int) -> Value:
        """An element of an input, by the name of its use where accesses to the array move in several ways."""
        launch, moving = self.launch, self.launch.places.moving
        if region.name not in launch.apart or not isinstance(address, Placed):
            return value
        of = tuple((n, c) for n, c in address.of if n in moving.last and n != ROUND)
        use = launch.use_of(region.name, {name: slope for name, slope in moving.slopes(of, 64).items() if moving.last[name]})
        if use == region.name:
            return value
        if use is None or not isinstance(value, Term) or value.op != "atom" or len(value.data[1]) != 1 or value.data[2] != 1:
            raise launch.unsupported("expected whole elements of inputs where accesses move in several ways", index)
        return launch.data.made(atom(use, value.data[1]), launch.data.kinds[value])

    def _check_steps(self, region: Region, step: int, offset: int, size: int, slopes: Slopes) -> None:
        """SplitError, or CoupledError, where an access leaves its array in a later step of a loop."""
        before, behind = self._rooms(region, offset, size, slopes)
        if step and LENGTH in region.grows:
            moving = self.launch.places.moving
            left = {name: region.grows.get(name, 0) - slopes.get(name, 0) for name in {**slopes, **region.grows}}
            if not (
                moving.is_never_negative(region.size_bytes - size - offset, {**left, ROUND: -step})
                and moving.is_never_negative(offset, {**slopes, ROUND: step})
            ):
                raise SplitError(ROUND, 0)
            return
        room = behind if step > 0 else before
        if step and room >= 0 and room // abs(step) < self.launch.places.moving.last[ROUND]:
            raise SplitError(ROUND, room // abs(step) + 1)

    def check_all_steps(self, addresses: list[Value], size: int) -> None:
        """SplitError at the first step in which one of these accesses leaves its array."""
        launch = self.launch
        if launch.rounds is None or not launch.rounds.is_general:
            return
        moving, at = launch.places.moving, launch.places.moving.last[ROUND] + 1
        for address in addresses:
            step = self.step_of(address)
            if not step or not isinstance(address, Placed) or (region := launch.memory.at(address)) is None:
                continue
            if LENGTH in region.grows:
                continue  # `_check_steps` looks at each
            others = {n: s for n, s in address.of if n in moving.last and n != ROUND}
            offset = int(address) - region.base
            before, behind = self._rooms(region, offset, size, moving.slopes(tuple(others.items()), 64))
            room = behind if step > 0 else before
            if room >= 0:
                at = min(at, room // abs(step) + 1)
        if at <= moving.last[ROUND]:
            raise SplitError(ROUND, at)

    def step_of(self, address: Value) -> int:
        """Bytes by which an address moves from step to step of a loop."""
        if self.launch.rounds is None or not isinstance(address, Placed):
            return 0
        slope = next((s for name, s in address.of if name == ROUND), 0)
        return slope - (1 << 64) if slope >> 63 else slope

    def moved(self, value: Value, step: int, index: int) -> Value:
        """Elements of an input as ones that move by so many bytes from step to step, a multiple of the access and so of each."""
        if isinstance(value, Joined):
            return Joined(tuple((self.moved(part, step, index), bits) for part, bits in value.parts))
        if not isinstance(value, Term) or value.op != "atom" or len(value.data[1]) != 1 or value.data[2] != 1:
            raise self.launch.unsupported("expected whole elements of inputs where an address moves with the rounds", index)
        kind = self.launch.data.kinds[value]
        name, (place,), _ = value.data
        return self.launch.data.made(atom(name, (place, step // (kind.bits // 8))), kind)

    def need(self, region: Region, size: int, index: int) -> None:
        """An access wider than what the region's begin is known to be a multiple of."""
        try:
            self.launch.places.need(region.name, size)
        except PlacementError as error:
            raise self.launch.unsupported(
                f"expected to know {error}, for an access of {size} bytes", index, "declare the variable with .align"
            ) from error

    def remember(
        self, block: Block, thread: int, region: Region, offset: int, size: int, kind: AccessKind, index: int, *,
        update: str = "", is_wide: bool = False, is_same: Callable[[], bool] | None = None,
    ) -> None:  # fmt: skip
        who = block.owner(thread, index, is_wide=is_wide)
        if kind == "load" and region.read(offset, size, [((block.position, thread), who)]):
            return
        earlier = region.access(
            offset, size, who, kind, lambda other: block.is_ordered(other, thread), update=update, is_same=is_same
        )
        if earlier is not None:
            element = f"bytes {offset} to {offset + size - 1} of {region.name}"
            raise block.race(earlier, thread, index, update.partition(".")[0] or kind, element)

    def _check_modifiers(self, instruction: Instruction, index: int) -> None:
        for modifier in instruction.modifiers:
            if modifier not in _PLAIN and modifier not in TYPE_BITS and not modifier.startswith("shared"):
                raise self.launch.unsupported(f"expected a plain access, got .{modifier} in {instruction.name}", index)


def _place_of(address: Value, thread: int, space: str) -> _Place:
    """A key that is equal for loads of one instruction that read the same bytes; each thread has its own local memory."""
    if not isinstance(address, int) or space == "local" or (space == "generic" and address >= LOCAL_BASE):
        return thread
    return int(address), address.of if isinstance(address, Placed) else ()


def _hold(region: Region, places: list[tuple[int, Value]], size: int, index: int, data: Data) -> bool:
    """Whether that instruction left exactly these values there."""
    return all(region.holds(offset, size, value, index, data) for offset, value in places)


def _only_read(region: Region) -> str | None:
    """The reason why nobody may write the region."""
    if region.is_constant:
        return f"{region.name} is constant"
    return f"ld.global.nc reads {region.name} in the same launch" if region.is_read_only else None


def space_of(instruction: Instruction) -> str:
    for modifier in instruction.modifiers:
        head = modifier.split("::")[0]
        if head in _SPACES and not modifier.startswith(("L1", "L2")):
            return head
    return "generic"


def convert_address(instruction: Instruction, reader: Reader) -> Reader:
    """cvta: addresses of shared and local variables move between their window and generic addresses; others are the same."""
    base = _WINDOWS.get(space_of(instruction), 0)
    step = -base if "to" in instruction.modifiers else base
    if not base:
        return reader

    def run(block: Block, lanes: Lanes) -> list[Value]:
        return [shifted(v, step) if isinstance(v, int) else v for v in reader(block, lanes)]

    return run
