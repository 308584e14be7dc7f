"""Work and the cycles that it takes, counted by hand; faster machines with less to do never take longer."""

from __future__ import annotations

import math
import random
from dataclasses import fields, replace

import pytest

from warploom.machines import (
    ARCHITECTURES,
    COMPILED,
    MATRIX_INSTRUCTIONS,
    Architecture,
    Requests,
    Speeds,
    Work,
    fastest,
    joined,
    usual,
)

AMOUNTS = [f.name for f in fields(Work) if f.name not in ("requests", "products")]
ROWS = list(ARCHITECTURES.values())


def board(on: Architecture) -> Speeds:
    """Usual speeds of the units on the largest board."""
    most = fastest(on)
    return usual(on, l2_bytes=most.l2_bytes, memory_bytes=most.memory_bytes, clock_ghz=most.clock_ghz)


@pytest.mark.parametrize(("arch", "cycles"), [("sm_80", 2), ("sm_90", 2), ("sm_103", 1)])
def test_exponentials_go_through_their_own_units(arch: str, cycles: float) -> None:
    """16 lanes since Volta, 32 in Blackwell Ultra; beside the f32 units, where their product goes."""
    found = usual(ARCHITECTURES[arch]).cycles(Work(issued=2, floats=1, specials=1))
    assert found["special units"] == cycles and found["f32 units"] == 32 / ARCHITECTURES[arch].timing.float_lanes.value


@pytest.mark.parametrize(("arch", "cycles"), [("sm_86", 16), ("sm_90", 0.5)])
def test_doubles_have_units_of_their_own(arch: str, cycles: float) -> None:
    """The model of loop nests once took them for floats: 64 times too fast on small chips."""
    found = usual(ARCHITECTURES[arch]).cycles(Work(issued=1, doubles=1))
    assert found["f64 units"] == cycles and found["f32 units"] == 0


@pytest.mark.parametrize(("arch", "cycles"), [("sm_80", 1), ("sm_86", 2), ("sm_75", 2)])
def test_load_units_bound_what_a_small_chip_loads(arch: str, cycles: float) -> None:
    on = usual(ARCHITECTURES[arch])
    assert on.cycles(Work(requests=(Requests(1, 1),)))["load path"] == cycles
    read_only = Requests(1, 1, is_read_only=True)
    assert on.cycles(Work(requests=(read_only,)))["load path"] == cycles, "the same path since Volta"


def test_each_request_takes_what_takes_longest_for_it() -> None:
    """Addresses, data, lines: of each request by itself, since requests pass one after another."""
    on = usual(ARCHITECTURES["sm_86"])
    wide, scattered = Requests(10, 16, 4), Requests(5, 32, 32)
    assert on.cycles(Work(requests=(wide, scattered)))["load path"] == 10 * 4 + 5 * 32


def test_the_texture_path_is_beside_the_load_path_before_volta() -> None:
    found = usual(ARCHITECTURES["sm_52"]).cycles(Work(requests=(Requests(3, 4, is_read_only=True), Requests(2, 4))))
    assert (found["texture path"], found["load path"]) == (3 * 4 / 2, 2 * 4 / 2)


def test_shuffles_and_shared_memory_share_the_load_path() -> None:
    """The ranking of scans once took the larger of the two."""
    found = usual(ARCHITECTURES["sm_90"]).cycles(Work(shuffles=3, wavefronts=4, requests=(Requests(1, 4),)))
    assert found["load path"] == 3 + 4 + 1


@pytest.mark.parametrize("row", [ARCHITECTURES[name] for name in COMPILED], ids=lambda row: row.name)
def test_no_speed_of_a_row_is_above_its_fastest(row: Architecture) -> None:
    most = fastest(row)
    products = [Work(products=((name, 1.0),)) for name in MATRIX_INSTRUCTIONS]
    for work in (
        [Work(**{name: 1.0}) for name in AMOUNTS]
        + products
        + [Work(requests=(Requests(1, s, n),)) for s in (1, 9) for n in (0, 9)]
    ):
        assert most.time_ns(work) <= board(row).time_ns(work)


def test_less_work_never_takes_longer() -> None:
    rng = random.Random(5)
    for _ in range(50):
        on = usual(rng.choice(ROWS), l2_bytes=64, memory_bytes=9, clock_ghz=1.5, launch_ns=1000)
        requests = tuple(
            Requests(rng.random(), 8 * rng.random(), 8 * rng.random(), is_read_only=rng.random() < 0.5) for _ in "abc"
        )
        work = Work(requests=requests, **{name: rng.random() for name in AMOUNTS})
        name = rng.choice(AMOUNTS)
        less = replace(work, requests=requests[1:], **{name: getattr(work, name) * rng.random()})
        for sharpness in (1.0, 4.0, 8.0, math.inf):
            assert on.time_ns(less, sharpness) <= on.time_ns(work, sharpness) * (1 + 1e-12)
        assert on.time_ns(work) <= on.time_ns(work, 8) <= on.time_ns(work, 4) <= on.time_ns(work, 1)


def test_work_adds_up() -> None:
    one = Work(issued=2, requests=(Requests(1, 4), Requests(2, 8, is_store=True)), launches=1)
    both = one + one.times(3)
    assert (both.issued, both.launches) == (8, 4)
    products = Work(products=(("i8", 3.0),)) + Work(products=(("f64", 1.0),)).times(2)
    on = usual(ARCHITECTURES["sm_80"])
    assert on.cycles(products)["matrix units"] == 3 / 2048 + 2 / 64
    assert (both.sectors(is_store=False), both.sectors(is_store=True)) == (16, 64)


def test_joined_times() -> None:
    assert joined([]) == 0 and joined([0.0, 0.0], 4) == 0
    assert joined([3, 4], 1) == 7 and joined([3, 4], 2) == 5 and joined([3, 4]) == 4
