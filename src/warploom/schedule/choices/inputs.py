"""Inputs of the space's description for one kernel on one target: sets, facts, constants, lowerings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TypeAlias

from warploom.machines import MOST_APART
from warploom.schedule.backbone import (
    Access,
    Backbone,
    Instruction,
    Operator,
    Region,
    Result,
    Role,
    Scope,
    matrix_of,
    run_time_sizes,
    serial_axes,
    summands_of,
    symmetry_of,
)
from warploom.schedule.choices.decided import Temporary
from warploom.schedule.choices.description import MOST_LOOPS, MOST_SUMS, VECTOR_SIZES, Flavour, description
from warploom.schedule.choices.features import Features
from warploom.schedule.choices.kept_totals import facts_of_kept_totals, results_of, totals_of
from warploom.schedule.choices.objects import Loop, Objects, Operation
from warploom.schedule.choices.shared_sums import facts_of_shared_sums, shared_sums
from warploom.schedule.choices.twins import twins_of
from warploom.schedule.choices.warps import can_shape_warps, grids_of
from warploom.schedule.choices.windows import windowed_regions
from warploom.schedule.nest import Cache
from warploom.schedule.targets import Target
from warploom.solve.space import Instance, Lowering, Thing, Things

Fact: TypeAlias = bool | frozenset[int] | frozenset[tuple[int, int]]
"""The objects, or pairs of objects, for which it holds."""


def instance_of(objects: Objects, target: Target, features: Features) -> Instance:
    """The compiled space of these objects."""
    return _Inputs(objects, target, features).instance()


@dataclass(slots=True)
class _Inputs:
    objects: Objects
    target: Target
    features: Features

    def instance(self) -> Instance:
        objects, backbone = self.objects, self.objects.backbone
        loops = {x.statement: x for x in objects.loops}
        of = {o.statement: o for o in objects.operations}
        shared = shared_sums(objects) if self.features.shares_sums and not self.target.has_threads else ()
        totals = totals_of(objects) if self.features.keeps_totals and not self.target.has_threads else []
        features = replace(self.features, shares_sums=bool(shared), keeps_totals=bool(totals))
        flavour = Flavour(features, self.target.has_threads, self.target.has_vector_arithmetic)
        staged = [n for t in range(len(objects.temporaries)) for n in objects.pairs_of(t)]
        put: dict[Thing, Thing] = {
            n: p.store for t, x in enumerate(objects.temporaries) for n, p in zip(objects.pairs_of(t), x.pairs, strict=True)
        }
        get: dict[Thing, Thing] = {
            n: p.load for t, x in enumerate(objects.temporaries) for n, p in zip(objects.pairs_of(t), x.pairs, strict=True)
        }
        confined = [o.statement for o in objects.operations if o.operator is Operator.STORE or self._start_of(o) is not None]
        accesses = [o.statement for o in objects.operations if o.operator in (Operator.LOAD, Operator.STORE)]
        regions = len(backbone.regions)
        temporaries = [t.region for t in objects.temporaries]
        static = [x.statement for x in objects.loops if self._is_static(x)]
        reduced = [x.statement for x in objects.loops if x.is_reduction]
        pairs_of = {t.region: objects.pairs_of(k) for k, t in enumerate(objects.temporaries)}
        any_loop = objects.loops[0].statement if objects.loops else 0
        sizes_of = {n: backbone.extents[n].sizes for n in {x.extent for x in objects.loops if self._can_thread(x)}}
        thread_sizes = sorted({n for sizes in sizes_of.values() for n in sizes if 1 < n <= self.target.max_threads})
        sets: Mapping[str, Sequence[Thing]] = {
            "Statements": list(range(objects.statements)),
            "Instructions": list(of),
            "Accesses": accesses,
            "Confined": confined,
            "Reductions": [s for s in confined if self._start_of(of[s]) is not None],
            "Dims": list(loops),
            "StaticDims": static,
            "ReducedDims": reduced,
            "Own": [(o.statement, s) for o in objects.operations for s in o.loops],
            "Axes": list(range(len(backbone.axes))),
            "Extents": list(range(len(backbone.extents))),
            "Tiles": [(e.axis, n) for n, e in enumerate(backbone.extents) if e.level > 0],
            "Regions": [*range(regions), *temporaries],
            "Temporaries": temporaries,
            "Pairs": list(range(len(objects.pairs))),
            "BlockPairs": staged,
            "StagedPairs": staged,
            "ThreadSizes": list(range(len(thread_sizes))),
            **({"Totals": totals} if flavour.keeps_totals else {}),
            "Travelling": temporaries,
            "Travels": [(t.region, n) for k, t in enumerate(objects.temporaries) for n in objects.pairs_of(k)],
            "Kernel": [0],
            "Layers": [(t, n) for t in temporaries for n in ((1, 2, 3) if self.features.pipelines else ())],
            "Dimensions": [(t.region, n) for k, t in enumerate(objects.temporaries) for n in objects.pairs_of(k)],
        }
        twins = {t.second.region: t.loops for t in twins_of(objects) if self.target.has_threads}
        vectors = {s: self._lanes(x, of[x.owner]) for s, x in loops.items()}
        lowerings = self._lowerings(sets)
        reserved = {member for lowering in lowerings.values() for member in lowering.members}
        compiled = description(flavour)
        facts: dict[str, Fact] = {
            **self._facts_of_instructions(of, loops),
            **self._facts_of_loops(list(loops.values()), shared),
            **self._facts_of_pairs(loops),
            **(facts_of_shared_sums(objects) if flavour.shares_sums else {}),
            **(facts_of_kept_totals(objects) if flavour.keeps_totals else {}),
            **{f"may_merge_with_sum_{n}": frozenset[int]() for n in range(len(shared), MOST_SUMS)},
            **{
                f"may_merge_with_sum_{n}": frozenset(s for s, x in loops.items() if self._may_merge(x, loops[sum_]))
                for n, sum_ in enumerate(shared)
            },
            "can_unroll": frozenset(static),
            "can_vector": frozenset(s for s, lanes in vectors.items() if lanes),
            "is_temporary": frozenset(temporaries),
            "can_window": windowed_regions(backbone) if self.features.windows and self.target.has_threads else frozenset[int](),
            **{f"is_layer_{n}": frozenset((t, n) for t in temporaries) for n in (1, 2, 3)},
            **{f"has_pair_{n}": frozenset(t for t in temporaries if n < len(pairs_of[t])) for n in range(MOST_LOOPS)},
            "can_pipeline": frozenset(t.region for t in objects.temporaries if self._can_pipeline(t)),
            "has_twin": frozenset(twins),
            "can_prefetch": frozenset[int]([0] if self._is_far() and not run_time_sizes(backbone) else []),
            "can_mirror": frozenset[int]([] if self.target.has_threads or symmetry_of(backbone) is None else [0]),
            "can_swizzle": frozenset(t.region for t in objects.temporaries if self.target.has_threads and len(t.pairs) > 1),
            "can_spread": frozenset(t.region for t in objects.temporaries if self.target.has_threads and objects.is_copy(t)),
            "can_be_in_atoms": frozenset(t.region for t in objects.temporaries if self._is_factor_of_groups(t)),
            **self._facts_of_warps(sizes_of),
            "is_reduced": frozenset(reduced),
            "is_exact": self.features.exact,
        }
        functions: dict[str, dict[Thing, Thing]] = {
            "extent": {s: x.extent for s, x in loops.items()},
            "owner": {s: x.owner for s, x in loops.items()},
            "source": {n: p.source for n, p in enumerate(objects.pairs)},
            "target": {n: p.target for n, p in enumerate(objects.pairs)},
            "put": put,
            "get": get,
            # functions are total: where there is no such loop or pair a fact says so
            **{f"loop_{n}": {s: _nth(o.loops, n, any_loop) for s, o in of.items()} for n in range(MOST_LOOPS)},
            **{f"sum_{n}": {s: _nth(shared, n, any_loop) for s in loops} for n in range(MOST_SUMS)},
            "copied_from": {t.region: self._copied_from(t) for t in objects.temporaries},
            "array_of": {(t, n): t for t in temporaries for n in (1, 2, 3)},
            **{
                f"source_{n}": {t: objects.pairs[_nth(p, n, p[0])].source for t, p in pairs_of.items()} for n in range(MOST_LOOPS)
            },
            **{
                f"target_{n}": {t: objects.pairs[_nth(p, n, p[0])].target for t, p in pairs_of.items()} for n in range(MOST_LOOPS)
            },
            "rounds_of_twin": {t: twins[t][0] if t in twins else objects.pairs[p[0]].source for t, p in pairs_of.items()},
            "own_rounds": {t: twins[t][1] if t in twins else objects.pairs[p[0]].target for t, p in pairs_of.items()},
            "results_of": {**results_of(objects)} if flavour.keeps_totals else {},
            "outermost": {e.axis: n for n, e in enumerate(backbone.extents) if e.level == 0},
        }
        constants: dict[str, int | dict[Thing, int]] = {
            **{f"lanes_{n}": {s: v[n] if n < len(v) else 0 for s, v in vectors.items()} for n in range(VECTOR_SIZES)},
            "axis_size": {n: a.size for n, a in enumerate(backbone.axes)},
            "element_bytes": {t.region: _bytes(backbone.instructions[t.producer].dtype.bits) for t in objects.temporaries},
            "total_bytes": {o.statement: _bytes(backbone.instructions[o.instruction].dtype.bits) for o in objects.sums},
            "thread_size": dict(enumerate(thread_sizes)),
            "max_threads": self.target.max_threads,
            "max_thread_dims": self.target.max_thread_dims,
            "max_grid_levels": self.target.max_thread_dims + 1,
            "max_outer_thread_size": self.target.max_outer_thread_size,
            "max_block_dims": self.target.max_block_dims,
            "max_outer_block_size": self.target.max_outer_block_size,
            "max_unroll": self.target.max_unroll,
            "max_registers": self.target.registers,
            "max_total_registers": self.target.registers - self.target.reserved_registers,
            "max_shared_bytes": self.target.shared_bytes,
        }
        return Instance(
            compiled,
            sets={name: [thing for thing in listed if (name, thing) not in reserved] for name, listed in sets.items()},
            universes={("size", (n,)): e.sizes for n, e in enumerate(backbone.extents)},
            functions={k: v for k, v in functions.items() if k in compiled.functions},
            facts={k: v for k, v in facts.items() if k in compiled.facts},
            constants={k: v for k, v in constants.items() if k in compiled.constants},
            lowerings=lowerings,
        )

    def _is_factor_of_groups(self, temporary: Temporary) -> bool:
        """Whether groups of four warps may multiply what is in it."""
        instructions = self.objects.backbone.instructions
        on = matrix_of(instructions, instructions[temporary.consumer])
        return on is not None and on.has_groups and on.factor in self.target.group_matrices

    def _facts_of_warps(self, sizes_of: Mapping[int, Sequence[int]]) -> dict[str, Fact]:
        """sizes_of: those of the extents along which threads may lie."""
        grids = grids_of(self.objects, self.target) if self.target.has_threads else ()
        return {
            "can_be_in_grid": frozenset[int]([0] if grids else []),
            "can_shape_warps": frozenset[int]([0] if can_shape_warps(sizes_of.values(), self.target.max_threads) else []),
            "is_level_of_grid": frozenset(s for grid in grids for s in grid),
            "is_around_in_grid": frozenset(pair for grid in grids for pair in combinations(grid, 2)),
        }

    def _facts_of_instructions(self, of: dict[int, Operation], loops: dict[int, Loop]) -> dict[str, Fact]:
        stores = [o for o in of.values() if o.operator is Operator.STORE]
        facts: dict[str, Fact] = {
            "precedes": self.objects.precedes,
            "owns": frozenset((x.owner, s) for s, x in loops.items()),
            "may_be_left_out": frozenset(
                (s, d) for s, o in of.items() for d, x in loops.items() if self._may_be_left_out(o, x, loops)
            ),
            "starts": frozenset((start, s) for s, o in of.items() if (start := self._start_of(o)) is not None),
            "is_taken_at_once": self._taken_at_once(),
            "is_store": frozenset(o.statement for o in stores if o.temporary is None),
            "is_put": frozenset(o.statement for o in stores if o.temporary is not None),
        }
        for n in range(MOST_LOOPS):
            nth = [(s, loops[o.loops[n]]) for s, o in of.items() if n < len(o.loops)]
            facts[f"has_loop_{n}"] = frozenset((s, d) for s, x in nth for d, y in loops.items() if self._may_merge(x, y))
        for cache in Cache:
            facts[f"can_cache_{cache.lower()}"] = frozenset(s for s, o in of.items() if self._can_cache(o, cache))
        return facts

    def _facts_of_loops(self, loops: list[Loop], shared: tuple[int, ...]) -> dict[str, Fact]:
        two = [(a, b) for a in loops for b in loops if a.statement != b.statement]
        kin = [(a, b) for a, b in two if a.owner == b.owner]
        return {
            "siblings": _statements(kin),
            "is_kin": _statements(kin) | {(a.statement, a.owner) for a in loops},
            "chained": _statements((a, b) for a, b in kin if self._is_chained(a, b)),
            "above": _statements((a, b) for a, b in kin if a.statement < b.statement),
            "outer_level": _statements((a, b) for a, b in kin if a.axis == b.axis and a.level < b.level),
            "may_merge": _statements((a, b) for a, b in two if self._may_merge(a, b)),
            "same_extent": _statements((a, b) for a, b in two if a.extent == b.extent),
            "same_part": _statements((a, b) for a, b in two if a.extent == b.extent and a.owner != b.owner),
            "can_block": frozenset(
                a.statement for a in loops if a.is_parallel and not a.is_reduction and not a.is_consumed_whole
            ).union(shared),
            "can_thread": frozenset(a.statement for a in loops if self._can_thread(a)),
            "can_tree": frozenset(a.statement for a in loops if a.is_parallel),
        }

    def _facts_of_pairs(self, loops: dict[int, Loop]) -> dict[str, Fact]:
        pairs = list(enumerate(self.objects.pairs))
        static = frozenset(n for n, p in pairs if self._is_static(loops[p.source]))
        serial = serial_axes(self.objects.backbone.instructions)
        staged = [(n, p.temporary) for n, p in pairs if p.temporary is not None and not p.is_reserved]
        together = frozenset((n, m) for n, t in staged for m, u in staged if t == u and n != m)
        return {
            "is_thread_pair": frozenset(n for n, p in pairs if p.scope is Scope.THREAD or self._is_kept(n)),
            "is_local_pair": frozenset(n for n, p in pairs if p.scope is Scope.LOCAL),
            "is_dynamic_pair": frozenset(n for n, p in pairs if n not in static or loops[p.source].axis in serial),
            "has_static_ends": static,
            "laid_out": together,
            "copies": frozenset(
                (n, s) for k, t in enumerate(self.objects.temporaries) for n in self.objects.pairs_of(k) for s in self._copying(t)
            ),
            "follows": frozenset((n, m) for n, m in together if n < m),
            "is_of_later_array": frozenset((n, m) for n, t in staged for m, u in staged if t < u),
        }

    def _lowerings(self, sets: Mapping[str, Sequence[Thing]]) -> dict[tuple[str, Things], Lowering]:
        """Each pair of a temporary brings all of it."""
        objects = self.objects
        lowerings: dict[tuple[str, Things], Lowering] = {}
        for number, temporary in enumerate(objects.temporaries):
            dims = [(s, p) for p in temporary.pairs for s in (p.store, p.load)]
            statements = {temporary.store, temporary.load, *(s for s, _ in dims)}
            direct = objects.pairs_of(number)
            new: dict[str, set[Thing]] = {
                name: {*statements} for name in ("Statements", "Instructions", "Accesses", "Confined", "Dims", "StaticDims")
            }
            new["Own"] = {
                (o, p.store if o == temporary.store else p.load)
                for p in temporary.pairs
                for o in (temporary.store, temporary.load)
            }
            new["Regions"] = new["Temporaries"] = {temporary.region}
            new["Pairs"] = {n for n, p in enumerate(objects.pairs) if p.temporary == number and p.is_reserved}
            new["StagedPairs"] = set(direct)
            new["Dimensions"] = {(temporary.region, n) for n in direct}
            new["Layers"] = {(temporary.region, n) for n in (1, 2, 3)}
            members = tuple((name, thing) for name, things in new.items() for thing in sets[name] if thing in things)
            for pair in direct:
                lowerings["stage", (pair,)] = Lowering(members)
        return lowerings

    def _taken_at_once(self) -> frozenset[int]:
        """Operations on loaded values of which a sum takes one after the other, where a thread's loops for them are joined."""
        if not self.target.has_threads or self.features.exact:
            return frozenset()
        instructions = self.objects.backbone.instructions
        return frozenset(s for o in self.objects.sums for s in summands_of(instructions, o.instruction))

    def _is_far(self) -> bool:
        """The arrays do not fit the cache of a core twice as large as its temporaries may be."""
        return _held(self.objects.backbone) > 2 * self.target.shared_bytes

    def _is_kept(self, pair: int) -> bool:
        """The value cannot go through a temporary."""
        found = self.objects.pairs[pair]
        return found.temporary is None or found.is_reserved

    def _is_static(self, loop: Loop) -> bool:
        is_known = self.objects.backbone.axes[loop.axis].run_time is None
        return (self.features.outer_is_static and is_known) or loop.level > 0

    def _may_be_left_out(self, operation: Operation, loop: Loop, loops: Mapping[int, Loop]) -> bool:
        axes = self.objects.backbone.axes
        length = axes[loop.axis].run_time
        return loop.level == 0 and length is not None and all(axes[loops[s].axis].run_time != length for s in operation.loops)

    def _start_of(self, operation: Operation) -> int | None:
        carry = self.objects.backbone.instructions[operation.instruction].carry
        return carry.init if carry is not None and operation.temporary is None else None

    def _is_chained(self, a: Loop, b: Loop) -> bool:
        is_sum = a.is_reduction and b.is_reduction and not a.is_parallel
        return is_sum and a.owner == b.owner and a.statement < b.statement

    def _may_merge(self, x: Loop, y: Loop) -> bool:
        if x.owner == y.owner:
            return False
        if x.extent == y.extent:
            return True
        if not (self.features.merges_axes and self._is_static(x) and self._is_static(y)):
            return False
        extents = self.objects.backbone.extents
        return bool(set(extents[x.extent].sizes) & set(extents[y.extent].sizes))

    def _can_thread(self, loop: Loop) -> bool:
        if not self.target.has_threads or not self._is_static(loop):
            return False
        if loop.is_reduction:
            return self.features.partials and loop.is_parallel
        return loop.is_parallel and not loop.is_consumed_whole

    def _lanes(self, loop: Loop, operation: Operation) -> tuple[int, ...]:
        """Sizes of the loop as one vector instruction."""
        backbone = self.objects.backbone
        instruction = backbone.instructions[operation.instruction]
        lanes = self.target.lanes(_bytes(instruction.dtype.bits))
        if not self._is_static(loop):
            return ()
        if operation.temporary is not None:
            return lanes
        # On a CPU the lanes of a vector that are beyond the axis are masked.
        size = 0 if self.target.has_vector_arithmetic else backbone.axes[loop.axis].divisor
        if loop.is_reduction:
            can = self.features.partials and loop.is_parallel and self.target.has_vector_arithmetic
            return tuple(n for n in lanes if size % n == 0) if can and loop.is_innermost else ()
        if not loop.is_parallel or loop.is_consumed_whole:
            return ()
        if instruction.access is None:
            if operation.operator is Operator.CAST:
                return self._cast_lanes(lanes, instruction)
            return lanes if self.target.has_vector_arithmetic else ()
        if not loop.is_innermost:
            return ()
        if self.target.has_vector_arithmetic and operation.operator is Operator.STORE and self.objects.sums:
            return lanes  # one that skips elements stores lane by lane, which is little beside a sum
        most = MOST_APART if operation.operator is Operator.LOAD else 1
        return tuple(n for n in lanes if size % n == 0 and self._is_consecutive(instruction.access, loop.axis, n, most))

    def _cast_lanes(self, lanes: tuple[int, ...], cast: Instruction) -> tuple[int, ...]:
        """The lanes that both types have."""
        (source,) = cast.operands
        if not self.target.has_vector_arithmetic or not isinstance(source, Result):
            return ()
        other = self.objects.backbone.instructions[source.instruction].dtype
        return tuple(n for n in lanes if n in self.target.lanes(_bytes(other.bits)))

    def _is_consecutive(self, access: Access, axis: int, lanes: int, most: int) -> bool:
        """`lanes` iterations of the axis touch neighbours in memory, or elements at most so far apart; where vectors must be
        aligned, an aligned group of neighbours, all of it inside of the array or none."""
        region = self.objects.backbone.regions[access.region]
        strides = region.strides
        total: dict[int, int] = {}
        constant = 0
        for index, stride in zip(access.indices, strides, strict=True):
            constant += index.constant * stride
            for term, coefficient in index.terms:
                total[term] = total.get(term, 0) + coefficient * stride
        if self.target.has_vector_arithmetic:
            return 1 <= total.get(axis, 0) <= most
        opened = dict(region.open_lengths)
        divisors = [opened[n].divisor if n in opened else size for n, size in enumerate(region.shape)]
        is_apart = access.fill is not None and any(
            index.coefficient(axis) and (d % lanes or index.without((axis,)).divisor % lanes)
            for index, d in zip(access.indices, divisors, strict=True)
        )
        return (
            total.get(axis) == 1
            and not is_apart
            and all(v % lanes == 0 for v in (constant, *(total[t] for t in total if t != axis)))
        )

    def _can_pipeline(self, temporary: Temporary) -> bool:
        return self.target.has_threads and self.objects.backbone.instructions[temporary.producer].operator is Operator.LOAD

    def _copying(self, temporary: Temporary) -> set[int]:
        """Statements of the copy into a temporary."""
        owners = {temporary.producer, temporary.store}
        return owners | {x.statement for x in self.objects.loops if x.owner in owners}

    def _copied_from(self, temporary: Temporary) -> int:
        """The array that is loaded into a temporary, or, of results, any region."""
        access = self.objects.backbone.instructions[temporary.producer].access
        return temporary.region if access is None else access.region

    def _can_cache(self, operation: Operation, cache: Cache) -> bool:
        backbone = self.objects.backbone
        access = backbone.instructions[operation.instruction].access
        if operation.temporary is not None or access is None:
            return cache is Cache.NONE
        if operation.operator is Operator.STORE:
            return cache in self.target.store_caches and (cache is not Cache.NONE or leaves_caches(backbone, self.target))
        is_input = backbone.regions[access.region].role is Role.INPUT
        return cache in self.target.load_caches and (is_input or cache is not Cache.READ_ONLY)


def _statements(pairs: Iterable[tuple[Loop, Loop]]) -> frozenset[tuple[int, int]]:
    return frozenset((a.statement, b.statement) for a, b in pairs)


def _nth(things: tuple[int, ...], n: int, otherwise: int) -> int:
    return things[n] if n < len(things) else otherwise


def _bytes(bits: int) -> int:
    return -(-bits // 8)


def leaves_caches(backbone: Backbone, target: Target) -> bool:
    """The arrays do not fit half of a CPU's last cache, or results that leave the program none that is faster than memory.
    Elsewhere whoever reads them next finds them there, and stores around the caches only seem faster, as long as nothing else
    touches what they write."""
    rates = target.rates
    if target.has_threads or run_time_sizes(backbone) or not rates.caches:
        return True
    results = sum(_size(r) for r in backbone.regions if r.role is Role.OUTPUT and not r.is_between)
    return 0 < rates.near_bytes < results or 2 * _held(backbone) > rates.caches[-1].size_bytes


def _held(backbone: Backbone) -> int:
    """Bytes of all arrays."""
    return sum(map(_size, backbone.regions))


def _size(region: Region) -> int:
    return region.elements * _bytes(region.dtype.bits)
