"""The kernel space: whatever is decided can be lowered and computes what the backbone says."""

from __future__ import annotations

import random

import numpy as np
import pytest
from tests.schedule.choices import hand
from tests.schedule.nest.interpreter import interpret

from warploom.core import UserError
from warploom.kernels.tensors import tensor_kernel
from warploom.schedule.backbone import Backbone, Operator, cpu_tiles, evaluate
from warploom.schedule.choices import Features, KernelSpace, kernel_space
from warploom.schedule.nest import Barrier, Kind, Load, Nest, Store, loops, statements, verify
from warploom.schedule.targets import K4000, Target, cpu, target
from warploom.solve.space import Candidate

CPU = cpu(16, 16)
SM_90 = target("sm_90")


def small_matmul(divisors: bool = False, m: int = 4, n: int = 8, k: int = 6) -> Backbone:
    return hand.matmul(m, n, k, (((1, 2),), ((4,),), ((1, 2, 3),)), divisors=divisors)


def descend(space: KernelSpace, candidate: Candidate, seed: int) -> Candidate | None:
    """A random leaf below the candidate, None at a dead end."""
    draw = random.Random(seed)
    while (decision := space.decisions(candidate)) is not None:
        children = [c for a in decision.alternatives if (c := space.apply(candidate, decision, a)) is not None]
        if not children:
            return None
        candidate = draw.choice(children)
    return candidate


def check(backbone: Backbone, nest: Nest, seed: int = 0) -> None:
    verify(nest)
    draw = np.random.default_rng(seed)
    arrays = {r.name: draw.integers(-3, 4, r.shape).astype(np.float32) for r in backbone.regions if r.role == "input"}
    scalars = {"alpha": 2.0, "beta": 3.0}
    wanted = evaluate(backbone, arrays, scalars)
    for name, found in interpret(nest, arrays, scalars, seed).items():
        np.testing.assert_array_equal(found.reshape(-1), wanted[name].reshape(-1))


def check_coherent(space: KernelSpace, candidate: Candidate) -> None:
    """The orders of the active statements are a tree with a sequence in each body; producers precede users."""
    active = [s for s in range(space.objects.statements) if candidate.is_member("Statements", s)]
    values = {(a, b): set(candidate.values("order", a, b)) for a in active for b in active if a != b}
    flipped = {"BEFORE": "AFTER", "AFTER": "BEFORE", "INNER": "OUTER", "OUTER": "INNER", "MERGED": "MERGED"}
    around = {a: {b for b in active if a != b and values[a, b] == {"INNER"}} for a in active}
    for (a, b), found in values.items():
        assert {flipped[str(v)] for v in found} == values[b, a]
        assert len(found) == 1 or found == {"BEFORE", "AFTER"}
        for c in around[a]:
            if c in (a, b):
                continue
            if found <= {"BEFORE", "AFTER"} and c not in around[b]:
                assert values[c, b] <= {"BEFORE", "AFTER", "MERGED", "OUTER"}
            if found == {"MERGED"}:
                assert c in around[b]
    for loops_around in around.values():
        for b in loops_around:
            for c in loops_around - {b}:
                assert values[b, c] <= {"INNER", "OUTER", "MERGED"}, "loops around one statement are nested"
    for a, b in space.objects.precedes:
        if a in around and b in around:
            assert values[a, b] == {"BEFORE"}
    for operation in space.objects.operations:
        if operation.statement in around:
            assert set(operation.loops) <= around[operation.statement]


@pytest.mark.parametrize(
    ("machine", "features"),
    [(SM_90, Features.full()), (CPU, Features.full()), (K4000, Features.paper())],
    ids=["cuda", "cpu", "paper"],
)
def test_random_leaves_compute_what_the_backbone_says(machine: Target, features: Features) -> None:
    backbone = small_matmul(divisors=features.exact, k=6)
    if not features.outer_is_static:
        backbone = hand.matmul(4, 4, 4, (((2,),), ((2,),), ((2,),)))
    space = kernel_space(backbone, machine, features)
    leaves = [leaf for seed in range(4) if (leaf := descend(space, space.root(), seed)) is not None]
    assert len(leaves) >= 3
    for seed, leaf in enumerate(leaves):
        check_coherent(space, leaf)
        check(backbone, space.lower(leaf), seed)


def test_every_implementation_of_a_small_kernel_is_coherent() -> None:
    backbone = hand.copy(2, 2)
    space = kernel_space(backbone, CPU)
    found: set[Nest] = set()
    leaves, dead = 0, 0

    def visit(candidate: Candidate) -> None:
        nonlocal leaves, dead
        decision = space.decisions(candidate)
        if decision is None:
            leaves += 1
            check_coherent(space, candidate)
            nest = space.lower(candidate)
            check(backbone, nest)
            found.add(nest)
            return
        children = [c for a in decision.alternatives if (c := space.apply(candidate, decision, a)) is not None]
        dead += not children
        for child in children:
            visit(child)

    visit(space.root())
    assert dead == 0
    assert leaves > 20
    assert len(found) > 20


def test_decisions_commute() -> None:
    space = kernel_space(small_matmul(), SM_90)
    leaf = descend(space, space.root(), 3)
    assert leaf is not None
    decisions = list(space.describe(leaf).items())
    in_order = space.replay(decisions)
    assert np.array_equal(in_order.domains, leaf.domains)
    for seed in range(3):
        shuffled = list(decisions)
        random.Random(seed).shuffle(shuffled)
        # what concerns a temporary waits until it is there
        shuffled.sort(key=lambda d: "put_" in d[0] or "get_" in d[0] or "tmp_" in d[0] or d[0].startswith("layout"))
        assert space.replay(shuffled) == leaf


def test_a_descent_in_another_order_reaches_leaves_too() -> None:
    backbone = small_matmul()
    space = kernel_space(backbone, CPU)
    candidate = space.root()
    draw = random.Random(1)
    order = (
        "cache",
        "order",
        "dim_kind",
        "size",
        "partials",
        "layout",
        "mem_space",
        "thread_mapping",
        "stages",
        "swizzle",
        "direction",
    )
    while (decision := space.decisions(candidate, order)) is not None:
        children = [c for a in decision.alternatives if (c := space.apply(candidate, decision, a)) is not None]
        candidate = draw.choice(children)
    check(backbone, space.lower(candidate))


def test_naive_matmul_is_reachable() -> None:
    backbone = hand.matmul(4, 4, 4, ((), (), ()))
    space = kernel_space(backbone, SM_90)
    kinds = {"m0": "BLOCK", "n0": "THREAD"}
    candidate = space.replay(
        [(f"dim_kind({i}.{d})", k) for i in ("mad", "init", "store") for d, k in kinds.items()]
        + [(f"dim_kind({i}.k0)", "LOOP") for i in ("mad", "load_A", "load_B")]
        + [("order(load_A.k0, mad.k0)", "MERGED"), ("order(load_B.k0, mad.k0)", "MERGED")]
        + [("dim_kind(load_B.n0)", "THREAD"), ("order(load_B.n0, mad.n0)", "MERGED"), ("order(load_A.m0, mad.m0)", "MERGED")]
        + [("order(init.n0, mad.n0)", "MERGED"), ("order(mad.n0, store.n0)", "MERGED")]
    )
    leaf = descend(space, candidate, 0)
    assert leaf is not None
    nest = space.lower(leaf)
    check(backbone, nest)
    assert not any(isinstance(s, Barrier) for s, _ in statements(nest.body))
    assert len([s for s, _ in statements(nest.body) if isinstance(s, Load)]) == 2


def test_staged_matmul_is_reachable() -> None:
    """Both operands through shared memory, a register tile of 2 x 2 in each of 2 x 2 threads."""
    two = (2,)
    backbone = hand.matmul(8, 8, 4, ((two, two), (two, two), (two,)))
    space = kernel_space(backbone, SM_90)
    decisions = [(f"dim_kind(mad.{d})", k) for d, k in zip(("m0", "n0", "m1", "n1", "m2", "n2", "k0", "k1"),
                 ("BLOCK", "BLOCK", "THREAD", "THREAD", "UNROLL", "UNROLL", "LOOP", "UNROLL"), strict=True)]  # fmt: skip
    decisions += [
        ("thread_mapping(mad.m1, mad.n1)", "MAPPED_OUT"),
        ("dim_kind(load_A.m1)", "THREAD"), ("dim_kind(load_A.k1)", "THREAD"), ("dim_kind(load_A.m2)", "UNROLL"),
        ("thread_mapping(load_A.m1, mad.m1)", "MAPPED"), ("thread_mapping(load_A.k1, mad.n1)", "MAPPED"),
        ("dim_kind(load_B.k1)", "THREAD"), ("dim_kind(load_B.n1)", "THREAD"), ("dim_kind(load_B.n2)", "UNROLL"),
        ("thread_mapping(load_B.k1, mad.m1)", "MAPPED"), ("thread_mapping(load_B.n1, mad.n1)", "MAPPED"),
        ("order(load_A.k0, mad.k0)", "MERGED"), ("order(load_B.k0, mad.k0)", "MERGED"),
    ]  # fmt: skip
    candidate = space.replay(decisions)
    assert candidate.is_member("Statements", space.statement_names.index("put_load_A"))
    assert candidate.is_member("Statements", space.statement_names.index("get_load_B"))
    leaf = next(leaf for seed in range(8) if (leaf := descend(space, candidate, seed)) is not None)
    nest = space.lower(leaf)
    check(backbone, nest)
    assert any(isinstance(s, Barrier) for s, _ in statements(nest.body))
    assert space.replay(space.describe(leaf)) == leaf


def test_packed_matmul_is_reachable() -> None:
    """B is packed for each block of columns; a register tile of 2 rows by one vector."""
    backbone = hand.matmul(4, 8, 4, (((2,),), ((4,),), ()))
    space = kernel_space(backbone, CPU)
    kinds = {"mad.n0": "BLOCK", "mad.m0": "LOOP", "mad.k0": "LOOP", "mad.m1": "UNROLL", "mad.n1": "VECTOR"}
    kinds |= {"load_B.n1": "VECTOR", "load_B.k0": "LOOP"}
    candidate = space.replay([(f"dim_kind({d})", k) for d, k in kinds.items()] + [("order(load_B.k0, mad.k0)", "BEFORE")])
    candidate = space.set_by_name(candidate, "dim_kind(put_load_B.n1)", "VECTOR")
    candidate = space.set_by_name(candidate, "order(put_load_B, mad.m0)", "BEFORE")
    leaf = next(leaf for seed in range(8) if (leaf := descend(space, candidate, seed)) is not None)
    nest = space.lower(leaf)
    check(backbone, nest)
    stores = [around for s, around in statements(nest.body) if isinstance(s, Store)]
    assert any(any(loop.kind is Kind.VECTOR for loop in around) for around in stores)
    assert any(loop.kind is Kind.BLOCK for loop in loops(nest.body))


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("dim_knd(mad.m0)", "LOOP", "did you mean dim_kind"),
        ("dim_kind(mad.m9)", "LOOP", "did you mean mad.m"),
        ("dim_kind(mad.m0)", "LOP", r"expected a value of dim_kind\(mad.m0\)"),
        ("dim_kind(mad.m0, mad.n0)", "LOOP", "expected 1 name"),
        ("dim_kind", "LOOP", "for example"),
        ("thread_mapping(mad.m0, mad.n0)", "MAPPED", "open on cpu"),
        ("dim_kind(mad)", "LOOP", "expected objects that dim_kind is about"),
        ("dim_kind(mad.k0)", "THREAD", "agrees with the other decisions"),
    ],
)
def test_wrong_decisions_are_explained(name: str, value: str, message: str) -> None:
    space = kernel_space(small_matmul(), target("cpu"))
    with pytest.raises(UserError, match=message):
        space.set_by_name(space.root(), name, value)


@pytest.mark.parametrize(("n", "values"), [(1 << 10, ["ALL"]), (1 << 26, ["ALL", "NONE"])])
def test_stores_go_around_the_caches_only_where_the_arrays_do_not_fit(n: int, values: list[str]) -> None:
    space = kernel_space(tensor_kernel("axpy").program({"n": n}, cpu_tiles).stages[0], CPU)
    store = next(o.statement for o in space.objects.operations if o.operator is Operator.STORE and o.temporary is None)
    assert sorted(str(v) for v in space.root().values("cache", store)) == values
