"""Files that Warploom writes and reads again, damaged: records to replay, journals of benchmarks, caches of answers."""

from __future__ import annotations

import json
import random

from benchmarks.fuzz.changes import NUMBERS, changed, vocabulary
from benchmarks.fuzz.inputs import BUDGETS_S, Given, changed_json, changed_value

_RECORDS = (
    {"case": "axpy", "kernel": "axpy", "target": "sm_90", "sizes": {"n": 1024}, "decisions": {"dim_kind(mad.n3)": "VECTOR"}},
    {"dim_kind(mad.n3)": "VECTOR", "size(n0)": "4"},
    {"v": 1, "decisions": {"axpy": {"size(n0)": "4"}}, "threads": 1},
)


_DECIDED = {
    "size(n0)": "4", "size(n1)": "8", "dim_kind(mad.n0)": "THREAD", "dim_kind(mad.n1)": "UNROLL", "dim_kind(mad.n2)": "THREAD",
    "order(load_x.n0, mad.n0)": "BEFORE", "order(load_y.n0, mad.n0)": "BEFORE", "dim_kind(load_x.n0)": "THREAD",
    "dim_kind(load_x.n1)": "UNROLL", "dim_kind(load_x.n2)": "THREAD", "dim_kind(load_y.n0)": "THREAD",
    "dim_kind(load_y.n1)": "THREAD", "layout(load_y.n0->mad.n0, load_y.n1->mad.n1)": "INNER",
    "layout(load_y.n0->mad.n0, load_y.n2->mad.n2)": "INNER", "layout(load_y.n1->mad.n1, load_y.n2->mad.n2)": "OUTER",
    "dim_kind(load_y.n2)": "THREAD", "thread_mapping(load_x.n0, mad.n0)": "MAPPED", "thread_mapping(load_x.n2, mad.n2)": "MAPPED",
    "order(load_x, get_load_y.n0)": "BEFORE|AFTER", "order(load_y, put_load_y.n0)": "INNER", "order(mad, store_z.n0)": "INNER",
    "order(mad, get_load_y.n0)": "AFTER", "cache(load_x)": "ALL", "cache(load_y)": "READ_ONLY", "cache(store_z)": "L2",
    "swizzle(tmp_load_y)": "PERMUTED",
}  # fmt: skip
"""Decisions of `axpy` for sm_90 at n = 64."""


def replayed(rng: random.Random) -> Given:
    """`explore --replay`. One in a hundred is a whole implementation with one decision exchanged: those that hold are checked,
    which takes a second without any budget."""
    is_whole = rng.random() < 0.01
    record = {"case": "axpy", "decisions": _DECIDED} if is_whole else rng.choice(_RECORDS)
    text = changed_json(record, rng, vocabulary([json.dumps(record)], NUMBERS))
    argv = ["explore", "axpy", "--replay", "given.json", "--target", "sm_90", "--size", "n=64", "--json"]
    return Given({"given.json": text}, argv, 10.0 if is_whole else max(BUDGETS_S))


def damaged_journal(rng: random.Random) -> Given:
    """A journal of `bench scan`, whose line of the case is damaged."""
    from warploom.tools.bench import scan as scan_bench
    from warploom.tools.bench.run import _key

    name = "lift/total"
    case = scan_bench.scan_case(next(iter(scan_bench.select(name)), next(iter(scan_bench.select("lift/*")))))
    line = {
        "v": 1, "case": case.name, "status": "solved", "verdict": "proved", "seconds": 0.1, "wall_s": 0.1, "peak_mb": 60.0,
        "domain": "integers", "as_expected": True,
    }  # fmt: skip
    record = {"key": _key(case), "value": changed_value(line, rng)}
    text = json.dumps(record) + "\n"
    words = vocabulary([text], NUMBERS)
    if rng.random() < 0.3:
        text = changed(text, rng, words)
    return Given({"journal": text, "case": case.name}, ["JOURNAL"])


def damaged_cache(rng: random.Random) -> Given:
    """A cache of `solve` whose answer, or file, is damaged."""
    line = {
        "status": "solved", "verdict": "proved", "goal": "best", "complete": True, "count": 1, "distinct": 1, "cost": [0, 3],
        "holes": {"to_send": "j"}, "visited": 3, "oracle": 1, "ineffectiveness": 1.0, "domain": "multisets of symbols",
    }  # fmt: skip
    value = changed_json(line, rng, vocabulary([json.dumps(line)], NUMBERS))
    return Given({"value": value, "damage": str(rng.randrange(8))}, ["CACHE"])
