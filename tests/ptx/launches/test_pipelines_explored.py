"""Random pipelines over mbarriers: what is proved has no race in any interleaving of its threads.

The oracle walks through all states of a few threads in plain Python and knows nothing of the prover: a race is a state in which
two threads are about to touch one place, or a thread is about to while a bulk copy is on its way there.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest

from warploom.ptx import lower, parse
from warploom.ptx.launches import RaceFree, assumptions, races

ROUNDS = 5
"""Rounds that the oracle goes through: more than any period here."""


@dataclass(frozen=True)
class Op:
    kind: str
    """wait, arrive, expect (an arrival that expects 16 bytes), expect2 (32), copy, store, load, fetch (a `cp.async` and its
    group), settle (a wait for groups), sync (a barrier of the block)."""
    at: int
    """Ring of mbarriers, or place of the tile: 0 that of the stage, 1 the other; of settle how many groups may go on."""
    parity: int = 0
    """The parity of a wait in the first round."""


@dataclass(frozen=True)
class Pipeline:
    stages: int
    counts: tuple[int, ...]
    """By ring: arrivals of a phase."""
    before: tuple[tuple[Op, ...], ...]
    """By thread: ahead of its loop, at stage 0 with the parity as it is."""
    rounds: tuple[tuple[Op, ...], ...]
    """By thread: in each round."""
    after: tuple[tuple[Op, ...], ...] = ((), (), (), ())
    """By thread: behind its loop, at places 0 and 1."""
    is_one_loop: bool = False
    """All threads go through one loop and part in its rounds; each has its own loop otherwise."""


# the oracle


@dataclass(frozen=True)
class Exact:
    kind: str
    place: int
    parity: int = 0
    counts_at: int = 0


def written_out(pipeline: Pipeline, thread: int, rounds: int) -> list[Exact]:
    found: list[Exact] = []
    for turn in range(-1, rounds):
        ops = pipeline.before[thread] if turn < 0 else pipeline.rounds[thread]
        stage, wraps = max(turn, 0) % pipeline.stages, max(turn, 0) // pipeline.stages
        ring = 0
        for op in ops:
            if op.kind in ("wait", "arrive", "expect", "expect2"):
                ring = op.at * pipeline.stages + stage
                found.append(Exact(op.kind, ring, (op.parity + wraps) % 2))
            elif op.kind in ("settle", "sync"):
                found.append(Exact(op.kind, op.at))
            else:
                found.append(Exact(op.kind, stage ^ op.at, counts_at=ring))
    return [*found, *(Exact(op.kind, op.at) for op in pipeline.after[thread])]


def has_race(pipeline: Pipeline, rounds: int = ROUNDS) -> bool:
    has_ends = any(pipeline.after)
    return any(_has_race(pipeline, n) for n in (range(1, rounds + 1) if has_ends else (rounds,)))


def _has_race(pipeline: Pipeline, rounds: int) -> bool:
    lists = [written_out(pipeline, t, rounds) for t in range(len(pipeline.rounds))]
    counts = [count for count in pipeline.counts for _ in range(pipeline.stages)]
    # places in the lists; of each mbarrier: phase's parity, arrivals to come, bytes to come; copies under way: step that began
    # them, place, mbarrier or -1
    first = (tuple(0 for _ in lists), tuple((0, count, 0) for count in counts), frozenset[tuple[int, int, int]]())
    seen = {first}
    waiting = [first]
    while waiting:
        ats, bars, flying = waiting.pop()
        steps = {t: lists[t][at] for t, at in enumerate(ats) if at < len(lists[t])}
        touched = [(s.place, s.kind != "load", t) for t, s in steps.items() if s.kind in ("store", "load", "copy", "fetch")]
        touched += [(place, True, -1 - n) for n, (_, place, _) in enumerate(flying)]
        if any(a[0] == b[0] and (a[1] or b[1]) for i, a in enumerate(touched) for b in touched[i + 1 :]):
            return True
        for following in _next(ats, bars, flying, steps, counts, lists):
            if following not in seen:
                seen.add(following)
                waiting.append(following)
    return False


_State = tuple[tuple[int, ...], tuple[tuple[int, int, int], ...], frozenset[tuple[int, int, int]]]


def _next(
    ats: tuple[int, ...],
    bars: tuple[tuple[int, int, int], ...],
    flying: frozenset[tuple[int, int, int]],
    steps: dict[int, Exact],
    counts: list[int],
    lists: list[list[Exact]],
) -> Iterator[_State]:
    for one in flying:
        yield ats, bars if one[2] < 0 else _changed(bars, one[2], counts, bytes_=-16), flying - {one}
    if len(steps) == len(ats) and all(step.kind == "sync" for step in steps.values()):
        yield tuple(at + 1 for at in ats), bars, flying
    for thread, step in steps.items():
        after = (*ats[:thread], ats[thread] + 1, *ats[thread + 1 :])
        begun = 100 * thread + ats[thread]
        match step.kind:
            case "wait":
                if bars[step.place][0] != step.parity:
                    yield after, bars, flying
            case "arrive":
                yield after, _changed(bars, step.place, counts, arrivals=1), flying
            case "expect" | "expect2":
                bytes_ = 16 if step.kind == "expect" else 32
                yield after, _changed(bars, step.place, counts, arrivals=1, bytes_=bytes_), flying
            case "copy":
                yield after, bars, flying | {(begun, step.place, step.counts_at)}
            case "fetch":
                yield after, bars, flying | {(begun, step.place, -1)}
            case "settle":
                groups = [100 * thread + n for n in range(ats[thread]) if lists[thread][n].kind == "fetch"]
                if not {one[0] for one in flying} & {*groups[: len(groups) - step.place]}:
                    yield after, bars, flying
            case "sync":
                pass
            case _:
                yield after, bars, flying


def _changed(
    bars: tuple[tuple[int, int, int], ...], which: int, counts: list[int], *, arrivals: int = 0, bytes_: int = 0
) -> tuple[tuple[int, int, int], ...]:
    parity, pending, left = bars[which]
    pending, left = pending - arrivals, left + bytes_
    if pending == 0 and left == 0:
        parity, pending = 1 - parity, counts[which]
    return (*bars[:which], (parity, pending, left), *bars[which + 1 :])


# as PTX


def printed(pipeline: Pipeline) -> str:
    threads, stages = len(pipeline.rounds), pipeline.stages
    made = "".join(
        f"mbarrier.init.shared.b64 [%r3+{8 * (ring * stages + s)}], {count};\n"
        for ring, count in enumerate(pipeline.counts) for s in range(stages)
    )  # fmt: skip
    text = f"""{HEAD}setp.ne.u32 %p1, %r1, 0;
@%p1 bra MADE;
{made}fence.mbarrier_init.release.cluster;
MADE: bar.sync 0; mov.u32 %r20, 0; mov.u32 %r21, 0; mov.u32 %r22, 0; mov.u32 %r23, 1;
"""
    if pipeline.is_one_loop:
        return text + _loop(pipeline, [*range(threads)], "A") + "}\n"
    for t in range(1, threads):
        text += f"setp.eq.u32 %p2, %r1, {t};\n@%p2 bra T{t};\n"
    for t in range(threads):
        text += f"T{t}: " + _loop(pipeline, [t], str(t))
    return text + "}\n"


def _loop(pipeline: Pipeline, threads: list[int], name: str) -> str:
    text = "mov.u32 %r40, %r3; mov.u32 %r41, %r2; mov.u32 %r42, %r2;\n"
    text += _parts(pipeline, {t: pipeline.before[t] for t in threads}, f"B{name}")
    text += f"R{name}: shl.b32 %r40, %r21, 3; add.u32 %r40, %r40, %r3; shl.b32 %r41, %r21, 4; add.u32 %r41, %r41, %r2;\n"
    text += "xor.b32 %r42, %r21, 1; shl.b32 %r42, %r42, 4; add.u32 %r42, %r42, %r2;\n"
    text += "mul.wide.u32 %rd5, %r20, 16; add.s64 %rd6, %rd2, %rd5;\n"
    syncs = [op.kind for op in pipeline.rounds[threads[0]]].count("sync")
    for n in range(syncs + 1):
        text += "bar.sync 0;\n" if n else ""
        text += _parts(pipeline, {t: _split(pipeline.rounds[t])[n] for t in threads}, f"R{name}S{n}")
    text += f"add.u32 %r21, %r21, 1; setp.eq.u32 %p4, %r21, {pipeline.stages};\n"
    text += "selp.u32 %r31, 1, 0, %p4; selp.u32 %r21, 0, %r21, %p4;\n"
    text += "xor.b32 %r22, %r22, %r31; xor.b32 %r23, %r23, %r31; add.u32 %r20, %r20, 1; setp.lt.u32 %p5, %r20, %r9;\n"
    text += f"@%p5 bra R{name};\nmov.u32 %r41, %r2; add.u32 %r42, %r2, 16;\n"
    return text + _parts(pipeline, {t: pipeline.after[t] for t in threads}, f"E{name}") + "ret;\n"


def _split(ops: tuple[Op, ...]) -> list[tuple[Op, ...]]:
    found: list[tuple[Op, ...]] = [()]
    for op in ops:
        found = [*found, ()] if op.kind == "sync" else [*found[:-1], (*found[-1], op)]
    return found


def _parts(pipeline: Pipeline, ops: dict[int, tuple[Op, ...]], name: str) -> str:
    """One after the other, what runs of threads with the same steps do; each goes on behind all of it."""
    text = ""
    threads = sorted(ops)
    if not any(ops.values()):
        return ""
    for n, last in enumerate(t for t in threads if t == threads[-1] or ops[t + 1] != ops[t]):
        own = "".join(_printed(pipeline, op, f"{name}P{n}_{k}") for k, op in enumerate(ops[last]))
        if last == threads[-1]:
            text += f"{own}{name}J: mov.u32 %r49, 0;\n"
        else:
            text += f"setp.gt.u32 %p6, %r1, {last};\n@%p6 bra {name}N{n};\n{own}bra {name}J;\n{name}N{n}:\n"
    return text


HEAD = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 q, .param .u32 n) {
.reg .pred %p<20>; .reg .b32 %r<60>; .reg .b64 %rd<9>;
.shared .align 16 .b8 tile[64]; .shared .align 8 .b8 bars[128];
ld.param.u64 %rd2, [q]; ld.param.u32 %r9, [n]; mov.u32 %r1, %tid.x; mov.u32 %r2, tile; mov.u32 %r3, bars;
"""


def _printed(pipeline: Pipeline, op: Op, label: str) -> str:
    at = f"[%r40+{8 * op.at * pipeline.stages}]"
    own = "%r42" if op.at else "%r41"
    match op.kind:
        case "wait":
            return f"{label}: mbarrier.try_wait.parity.shared.b64 %p3, {at}, %r{22 + op.parity};\n@!%p3 bra {label};\n"
        case "arrive":
            return f"mbarrier.arrive.shared.b64 _, {at};\n"
        case "expect" | "expect2" as kind:
            bytes_ = 16 if kind == "expect" else 32
            named = f"add.u32 %r43, %r40, {8 * op.at * pipeline.stages};\n"
            return f"mbarrier.arrive.expect_tx.shared.b64 _, {at}, {bytes_};\n{named}"
        case "copy":
            return f"cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [{own}], [%rd6], 16, [%r43];\n"
        case "fetch":
            return f"cp.async.ca.shared.global [{own}], [%rd2], 4; cp.async.commit_group;\n"
        case "settle":
            return f"cp.async.wait_group {op.at};\n"
        case "store":
            return f"st.shared.u32 [{own}], %r20;\n"
        case _:
            return f"ld.shared.u32 %r50, [{own}];\n"


# random ones


def _right(rng: random.Random) -> Pipeline:
    """Without a mistake."""
    stages = rng.choice((1, 2))
    consumers = rng.choice((1, 1, 2))
    load, store = Op("load", 0), Op("store", 0)
    match rng.choice(("handed", "handed", "copied", "both", "fetched", "synced", "together", "chain")):
        case "handed" | "copied" | "both" | "fetched" as kind:
            told = {
                "handed": (store, Op("arrive", 0)),
                "copied": (Op("expect", 0), Op("copy", 0)),
                "both": (Op("expect2", 0), Op("copy", 0), Op("copy", 1)),
                "fetched": (Op("fetch", 0), Op("settle", 0), Op("arrive", 0)),
            }[kind]
            stages = 1 if kind == "both" else stages
            producer = (Op("wait", 1, 1), *told)
            consumer = (Op("wait", 0), load, *([Op("load", 1)] if kind == "both" else []), Op("arrive", 1))
            return Pipeline(stages, (1, consumers), ((),) * (1 + consumers), (producer, *[consumer] * consumers))
        case "synced":
            consumer = (Op("wait", 0), load, Op("sync", 0))
            first = (Op("expect", 0), Op("copy", 0), *consumer)
            return Pipeline(stages, (1,), ((),) * (1 + consumers), (first, *[consumer] * consumers), is_one_loop=True)
        case "together":
            first = (store, Op("arrive", 0), Op("wait", 0), load, Op("arrive", 1), Op("wait", 1))
            other = (Op("arrive", 0), Op("wait", 0), load, Op("arrive", 1), Op("wait", 1))
            return Pipeline(stages, (1 + consumers,) * 2, ((),) * (1 + consumers), (first, *[other] * consumers))
        case _:
            rounds = (
                (Op("wait", 2, 1), store, Op("arrive", 0)),
                (Op("wait", 0), load, store, Op("arrive", 1)),
                (Op("wait", 1), load, Op("arrive", 2)),
            )
            return Pipeline(stages, (1, 1, 1), ((),) * 3, rounds)


def _changed_once(one: Pipeline, rng: random.Random) -> Pipeline:
    thread = rng.randrange(len(one.rounds))
    ops = list(one.rounds[thread])
    at = rng.randrange(len(ops))
    match rng.choice(("drop", "swap", "swap", "count", "parity", "stage", "more", "before", "ahead", "store", "end", "settle")):
        case "drop" if len(ops) > 1:
            del ops[at]
        case "swap":
            other = rng.randrange(len(ops))
            ops[at], ops[other] = ops[other], ops[at]
        case "count":
            ring = rng.randrange(len(one.counts))
            counts = [max(1, c + rng.choice((-1, 1))) if n == ring else c for n, c in enumerate(one.counts)]
            return replace(one, counts=tuple(counts))
        case "parity":
            ops[at] = replace(ops[at], parity=1 - ops[at].parity)
        case "stage" if ops[at].kind in ("load", "store", "copy"):
            ops[at] = replace(ops[at], at=1)
        case "more":
            more = rng.choice((Op("load", 0), Op("load", 1), Op("wait", 0), Op("wait", 1, 1), ops[at]))
            ops.insert(at, more if more.at < len(one.counts) else ops[at])
        case "store":
            ops.insert(at, Op("store", rng.randrange(2)))
        case "settle":
            ops = [replace(op, at=1) if op.kind == "settle" else op for op in ops]
        case "end":
            after = list(one.after)
            after[thread] = (Op(rng.choice(("load", "load", "store")), rng.randrange(2)),)
            return replace(one, after=tuple(after))
        case "before" | "ahead" as kind:
            before = list(one.before)
            moved = ops[0] if kind == "before" else rng.choice(ops)
            before[thread] = (*before[thread], replace(moved))
            return replace(one, before=tuple(before))
        case _:
            pass
    return replace(one, rounds=(*one.rounds[:thread], tuple(ops), *one.rounds[thread + 1 :]))


def pipelines(seed: int, count: int) -> Iterator[Pipeline]:
    rng = random.Random(seed)
    for _ in range(count):
        one = _right(rng)
        one = replace(one, is_one_loop=one.is_one_loop or rng.random() < 0.3)
        for _ in range(rng.choice((0, 1, 1, 2, 2, 3))):
            one = _changed_once(one, rng)
        if _is_printable(one):
            yield one


def _is_printable(one: Pipeline) -> bool:
    """A copy comes after the arrival that names its mbarrier, and all threads have barriers, in rounds of one loop."""
    for ops in (*one.before, *one.rounds):
        kinds = [op.kind for op in ops]
        if any(not {"expect", "expect2"} & {*kinds[:n]} for n, kind in enumerate(kinds) if kind == "copy"):
            return False
    syncs = {len(_split(ops)) for ops in one.rounds}
    return len(syncs) == 1 and (syncs == {1} or one.is_one_loop) and not any(len(_split(ops)) > 1 for ops in one.before)


def is_proved(one: Pipeline) -> bool:
    block = f"blockDim.x == {len(one.rounds)} && blockDim.y == 1 && blockDim.z == 1"
    return isinstance(races(lower(parse(printed(one), "k.ptx")), "k", assumptions(block)), RaceFree)


def compared(seed: int, count: int) -> tuple[int, int]:
    """How many were proved, and in how many others the oracle finds a race."""
    proved = racy = 0
    for one in pipelines(seed, count):
        is_racy = has_race(one)
        if is_proved(one):
            assert not is_racy, f"{one}\n{printed(one)}"
            proved += 1
        racy += is_racy
    return proved, racy


def test_the_oracle_tells_right_from_wrong() -> None:
    right = Pipeline(1, (1, 1), ((), ()), ((Op("wait", 1, 1), Op("store", 0), Op("arrive", 0)),
                                           (Op("wait", 0), Op("load", 0), Op("arrive", 1))))  # fmt: skip
    assert not has_race(right) and is_proved(right)
    early = replace(right, rounds=(right.rounds[0], (Op("wait", 0), Op("arrive", 1), Op("load", 0))))
    assert has_race(early) and not is_proved(early)
    copied = replace(right, rounds=((Op("wait", 1, 1), Op("expect", 0), Op("copy", 0)), right.rounds[1]))
    assert not has_race(copied) and is_proved(copied)
    unread = replace(copied, rounds=(copied.rounds[0], (Op("load", 0), Op("wait", 0), Op("arrive", 1))))
    assert has_race(unread) and not is_proved(unread)


def test_what_is_proved_has_no_race() -> None:
    proved, racy = compared(2, 8)
    assert proved >= 2 and racy >= 2


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 7))
def test_what_is_proved_has_no_race_in_many(seed: int) -> None:
    proved, racy = compared(seed, 80)
    assert proved >= 10 and racy >= 15
