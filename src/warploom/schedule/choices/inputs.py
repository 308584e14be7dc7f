"""What the description of the space needs to know of one kernel on one target: sets, facts, constants, lowerings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from warploom.schedule.backbone import Access, Operator, Role, Scope
from warploom.schedule.choices.decided import Temporary
from warploom.schedule.choices.description import MOST_LOOPS, VECTOR_SIZES, Flavour, description
from warploom.schedule.choices.features import Features
from warploom.schedule.choices.objects import Loop, Objects, Operation
from warploom.schedule.nest import Cache
from warploom.schedule.space import Instance, Lowering
from warploom.schedule.targets import Target


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
        flavour = Flavour(self.features, self.target.has_threads, self.target.has_vector_arithmetic)
        staged = [n for t in range(len(objects.temporaries)) for n in objects.pairs_of(t)]
        put = {n: p.store for t, x in enumerate(objects.temporaries) for n, p in zip(objects.pairs_of(t), x.pairs, strict=True)}
        get = {n: p.load for t, x in enumerate(objects.temporaries) for n, p in zip(objects.pairs_of(t), x.pairs, strict=True)}
        confined = [o.statement for o in objects.operations if o.operator is Operator.STORE or self._start_of(o) is not None]
        accesses = [o.statement for o in objects.operations if o.operator in (Operator.LOAD, Operator.STORE)]
        regions = len(backbone.regions)
        temporaries = [t.region for t in objects.temporaries]
        static = [x.statement for x in objects.loops if self._is_static(x)]
        reduced = [x.statement for x in objects.loops if x.is_reduction]
        sets = {
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
            "Layers": [(t, n) for t in temporaries for n in ((1, 2, 3) if self.features.pipelines else ())],
            "Dimensions": [(t.region, n) for k, t in enumerate(objects.temporaries) for n in objects.pairs_of(k)],
        }
        vectors = {s: self._lanes(x, of[x.owner]) for s, x in loops.items()}
        same = self._same_extent(loops)
        merge = self._may_merge(loops)

        def laid_out(p: int, q: int) -> bool:
            return p != q and objects.pairs[p].temporary == objects.pairs[q].temporary

        def nth(n: int) -> Callable[[int], int]:
            return lambda i: of[i].loops[n] if n < len(of[i].loops) else objects.loops[0].statement

        def has_nth(n: int) -> Callable[[int, int], bool]:
            return lambda i, d: loops[d].owner != i and n < len(of[i].loops) and merge(of[i].loops[n], d)

        def is_layer(n: int) -> Callable[[tuple[int, int]], bool]:
            return lambda layer: layer[1] == n

        pairs_of = {t.region: objects.pairs_of(k) for k, t in enumerate(objects.temporaries)}

        def has_pair(n: int) -> Callable[[int], bool]:
            return lambda r: n < len(pairs_of[r])

        def end_of(n: int, end: Literal["source", "target"]) -> Callable[[int], int]:
            def get_end(r: int) -> int:
                found = objects.pairs[pairs_of[r][n if n < len(pairs_of[r]) else 0]]
                return found.source if end == "source" else found.target

            return get_end

        facts = {
            "owns": lambda i, d: loops[d].owner == i,
            "is_kin": lambda d, a: loops[d].owner == (loops[a].owner if a in loops else a),
            "siblings": lambda a, b: loops[a].owner == loops[b].owner,
            "chained": lambda a, b: self._is_chained(loops[a], loops[b]),
            "precedes": objects.precedes,
            "starts": lambda a, i: self._start_of(of[i]) == a,
            "is_store": lambda i: of[i].operator is Operator.STORE and of[i].temporary is None,
            "is_put": lambda i: of[i].operator is Operator.STORE and of[i].temporary is not None,
            **{f"has_loop_{n}": has_nth(n) for n in range(MOST_LOOPS)},
            "can_unroll": frozenset(static),
            "can_vector": frozenset(s for s, lanes in vectors.items() if lanes),
            "can_block": lambda d: loops[d].is_parallel and not loops[d].is_reduction and not loops[d].is_consumed_whole,
            "can_thread": lambda d: self._can_thread(loops[d]),
            "may_merge": merge,
            "same_extent": same,
            "same_part": lambda a, b: same(a, b) and loops[a].owner != loops[b].owner,
            "above": lambda a, b: loops[a].owner == loops[b].owner and a < b,
            "outer_level": lambda a, b: (
                loops[a].owner == loops[b].owner and loops[a].axis == loops[b].axis and loops[a].level < loops[b].level
            ),
            "is_thread_pair": lambda p: objects.pairs[p].scope is Scope.THREAD or self._is_kept(p),
            "is_local_pair": lambda p: objects.pairs[p].scope is Scope.LOCAL,
            "is_dynamic_pair": lambda p: not self._is_static(loops[objects.pairs[p].source]),
            "has_static_ends": lambda p: self._is_static(loops[objects.pairs[p].source]),
            "laid_out": laid_out,
            "follows": lambda p, q: laid_out(p, q) and p < q,
            "is_temporary": lambda r: r >= regions,
            **{f"can_cache_{c.lower()}": self._can_cache(of, c) for c in Cache},
            "is_exact": self.features.exact,
            **{f"is_layer_{n}": is_layer(n) for n in (1, 2, 3)},
            **{f"has_pair_{n}": has_pair(n) for n in range(MOST_LOOPS)},
            "can_pipeline": lambda r: self._can_pipeline(objects.temporaries[r - regions]),
            "can_swizzle": lambda r: self.target.has_threads and len(objects.temporaries[r - regions].pairs) > 1,
            "is_reduced": frozenset(reduced),
            "can_tree": lambda d: loops[d].is_parallel,
        }
        functions = {
            "extent": lambda d: loops[d].extent,
            "owner": lambda d: loops[d].owner,
            "source": lambda p: objects.pairs[p].source,
            "target": lambda p: objects.pairs[p].target,
            "put": put,
            "get": get,
            **{f"loop_{n}": nth(n) for n in range(MOST_LOOPS)},
            "array_of": lambda c: c[0],
            **{f"source_{n}": end_of(n, "source") for n in range(MOST_LOOPS)},
            **{f"target_{n}": end_of(n, "target") for n in range(MOST_LOOPS)},
            "outermost": {e.axis: n for n, e in enumerate(backbone.extents) if e.level == 0},
        }
        constants = {
            **{f"lanes_{n}": {s: v[n] if n < len(v) else 0 for s, v in vectors.items()} for n in range(VECTOR_SIZES)},
            "axis_size": {n: a.size for n, a in enumerate(backbone.axes)},
            "element_bytes": {t.region: _bytes(backbone.instructions[t.producer].dtype.bits) for t in objects.temporaries},
            "max_threads": self.target.max_threads,
            "max_thread_dims": self.target.max_thread_dims,
            "max_outer_thread_size": self.target.max_outer_thread_size,
            "max_block_dims": self.target.max_block_dims,
            "max_outer_block_size": self.target.max_outer_block_size,
            "max_unroll": self.target.max_unroll,
            "max_registers": self.target.registers,
            "max_total_registers": self.target.registers - self.target.reserved_registers,
            "max_shared_bytes": self.target.shared_bytes,
        }
        compiled = description(flavour)
        lowerings = self._lowerings(sets)
        reserved = {member for lowering in lowerings.values() for member in lowering.members}
        return compiled.instance(
            sets={name: [thing for thing in listed if (name, thing) not in reserved] for name, listed in sets.items()},
            universes={("size", (n,)): e.sizes for n, e in enumerate(backbone.extents)},
            functions={k: v for k, v in functions.items() if k in compiled.functions},
            facts={k: v for k, v in facts.items() if k in compiled.facts},
            constants={k: v for k, v in constants.items() if k in compiled.constants},
            lowerings=lowerings,
        )

    def _lowerings(self, sets: dict[str, list[int] | list[tuple[int, int]]]) -> dict[tuple[str, tuple[int, ...]], Lowering]:
        """Each pair of a temporary brings all of it."""
        objects = self.objects
        lowerings: dict[tuple[str, tuple[int, ...]], Lowering] = {}
        for number, temporary in enumerate(objects.temporaries):
            statements = {temporary.store, temporary.load, *(s for p in temporary.pairs for s in (p.store, p.load))}
            pairs = {n for n, p in enumerate(objects.pairs) if p.temporary == number}
            direct = set(objects.pairs_of(number))
            members: list[tuple[str, int | tuple[int, int]]] = []
            for name, listed in sets.items():
                for thing in listed:
                    if name == "Layers":
                        is_new = isinstance(thing, tuple) and thing[0] == temporary.region
                    elif isinstance(thing, tuple):
                        is_new = (name == "Own" and thing[0] in statements) or (
                            name == "Dimensions" and thing[0] == temporary.region
                        )
                    elif name in (
                        "Statements",
                        "Instructions",
                        "Accesses",
                        "Confined",
                        "Reductions",
                        "Dims",
                        "StaticDims",
                        "ReducedDims",
                    ):
                        is_new = thing in statements
                    elif name in ("Regions", "Temporaries"):
                        is_new = thing == temporary.region
                    elif name == "Pairs":
                        is_new = thing in pairs - direct
                    else:
                        is_new = name == "StagedPairs" and thing in direct
                    if is_new:
                        members.append((name, thing))
            for pair in direct:
                lowerings["stage", (pair,)] = Lowering(tuple(members))
        return lowerings

    def _is_kept(self, pair: int) -> bool:
        """The value cannot go through a temporary."""
        found = self.objects.pairs[pair]
        return found.temporary is None or found.is_reserved

    def _is_static(self, loop: Loop) -> bool:
        return self.features.outer_is_static or loop.level > 0

    def _start_of(self, operation: Operation) -> int | None:
        carry = self.objects.backbone.instructions[operation.instruction].carry
        return carry.init if carry is not None and operation.temporary is None else None

    def _is_chained(self, a: Loop, b: Loop) -> bool:
        is_sum = a.is_reduction and b.is_reduction and not a.is_parallel
        return is_sum and a.owner == b.owner and a.statement < b.statement

    def _same_extent(self, loops: dict[int, Loop]) -> Callable[[int, int], bool]:
        return lambda a, b: loops[a].extent == loops[b].extent

    def _may_merge(self, loops: dict[int, Loop]) -> Callable[[int, int], bool]:
        def may_merge(a: int, b: int) -> bool:
            x, y = loops[a], loops[b]
            if x.owner == y.owner:
                return False
            if x.extent == y.extent:
                return True
            if not (self.features.merges_axes and self._is_static(x) and self._is_static(y)):
                return False
            sizes = self.objects.backbone.extents
            return bool(set(sizes[x.extent].sizes) & set(sizes[y.extent].sizes))

        return may_merge

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
        size = backbone.axes[loop.axis].size
        if loop.is_reduction:
            can = self.features.partials and loop.is_parallel and self.target.has_vector_arithmetic
            return tuple(n for n in lanes if size % n == 0) if can and loop.is_innermost else ()
        if not loop.is_parallel or loop.is_consumed_whole:
            return ()
        if instruction.access is None:
            return lanes if self.target.has_vector_arithmetic and operation.operator is not Operator.CAST else ()
        if not loop.is_innermost:
            return ()
        return tuple(n for n in lanes if size % n == 0 and self._is_consecutive(instruction.access, loop.axis, n))

    def _is_consecutive(self, access: Access, axis: int, lanes: int) -> bool:
        """`lanes` iterations of the axis touch neighbours in memory; where vectors must be aligned, an aligned group."""
        strides = self.objects.backbone.regions[access.region].strides
        total: dict[int, int] = {}
        constant = 0
        for index, stride in zip(access.indices, strides, strict=True):
            constant += index.constant * stride
            for term, coefficient in index.terms:
                total[term] = total.get(term, 0) + coefficient * stride
        is_guarded = access.fill is not None and any(axis == t for index in access.indices for t, _ in index.terms)
        if total.get(axis) != 1 or is_guarded:
            return False
        return self.target.has_vector_arithmetic or all(
            v % lanes == 0 for v in (constant, *(total[t] for t in total if t != axis))
        )

    def _can_pipeline(self, temporary: Temporary) -> bool:
        return self.target.has_threads and self.objects.backbone.instructions[temporary.producer].operator is Operator.LOAD

    def _can_cache(self, of: dict[int, Operation], cache: Cache) -> Callable[[int], bool]:
        backbone = self.objects.backbone

        def can(statement: int) -> bool:
            operation = of[statement]
            access = backbone.instructions[operation.instruction].access
            if operation.temporary is not None or access is None:
                return cache is Cache.NONE
            if operation.operator is Operator.STORE:
                return cache in self.target.store_caches
            is_input = backbone.regions[access.region].role is Role.INPUT
            return cache in self.target.load_caches and (is_input or cache is not Cache.READ_ONLY)

        return can


def _bytes(bits: int) -> int:
    return -(-bits // 8)
