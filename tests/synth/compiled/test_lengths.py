"""Numbers that move with the rounds of a loop and the length that says how many there are."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import pytest

from warploom.core import UnsupportedError, f32, u32, u64
from warploom.synth.compiled.advancing import advanced
from warploom.synth.compiled.alike import Translations
from warploom.synth.compiled.data import Data
from warploom.synth.compiled.moving import LENGTH, ROUND, CoupledError, Moving, PeriodError, PlacementError, SplitError
from warploom.synth.compiled.placed import Places, placed
from warploom.synth.compiled.rounds import Rounds
from warploom.synth.compiled.threads import Launch
from warploom.synth.compiled.transfers import Transfers
from warploom.terms import atom

LAST = 12


def test_a_sign_is_the_same_from_so_many_rounds_left_on() -> None:
    rng = random.Random(0)
    coupled = 0
    for _ in range(400):
        moving = Moving({"%ctaid.x": rng.randrange(3), LENGTH: LAST, ROUND: 1 << 30})
        own, block, number = rng.choice([-3, -1, 1, 4]), rng.choice([0, 1, -2]), rng.randrange(-30, 30)
        slopes = {ROUND: -own, LENGTH: own, "%ctaid.x": block}
        ask = rng.choice([moving.is_never_negative, moving._is_zero])
        try:
            ask(number, slopes)
            continue
        except CoupledError as error:
            moving.until = error.until
        coupled += 1
        if moving.until > LAST:
            continue
        moving.last[ROUND] = LAST - moving.until  # pyright: ignore[reportIndexIssue]
        found = ask(number, slopes)
        for b in range(moving.last["%ctaid.x"] + 1):
            for length in range(LAST + 1):
                for step in range(max(0, length - moving.until + 1)):
                    at = number + own * (length - step) + block * b
                    assert (at >= 0 if ask == moving.is_never_negative else at == 0) == found
    assert coupled > 100


def test_rounds_that_take_more_of_the_size_are_told() -> None:
    moving = Moving({LENGTH: LAST, ROUND: 1 << 30})
    with pytest.raises(PeriodError) as told:
        moving.is_never_negative(5, {ROUND: -6, LENGTH: 2})
    assert told.value.times == 3
    for step, own in ((6, 2), (-3, 2), (-1, 2), (2, 2)):
        with pytest.raises(SplitError, match=f"{ROUND} below 0"):
            moving.is_never_negative(-5, {ROUND: step, LENGTH: own})


def test_high_bits_of_a_number_that_moves() -> None:
    rng, decided = random.Random(1), 0
    for _ in range(400):
        places = Places()
        places.moving = Moving({"x": rng.randrange(6), "y": rng.randrange(3)})
        number, by = rng.randrange(1 << 20), rng.randrange(1, 9)
        slopes = {n: rng.choice([0, 1, 3, 255, 257, 1 << by, (1 << by) + 1, 5 << by]) for n in ("x", "y")}
        of = tuple((n, s) for n, s in slopes.items() if s)
        try:
            found = places.function("shr", (), u32, lambda *_: 0)(placed(number, of) if of else number, by)
        except PlacementError:
            continue
        decided += 1
        left: dict[str, int] = dict(getattr(found, "of", ()))
        for x in range(places.moving.last["x"] + 1):
            for y in range(places.moving.last["y"] + 1):
                assert (
                    int(found) + left.get("x", 0) * x + left.get("y", 0) * y == number + slopes["x"] * x + slopes["y"] * y >> by
                )
    assert decided > 50


def test_a_quotient_by_three_moves_with_the_rounds() -> None:
    places = Places()
    places.moving = Moving({ROUND: 1 << 20})
    product = places.function("mul", ("wide",), u32, lambda *_: 0)(placed(7, ((ROUND, 3),)), 0xAAAAAAAB)
    found = places.function("shr", (), u64, lambda *_: 0)(product, 33)
    assert (int(found), getattr(found, "of", ())) == (2, ((ROUND, 1),))


def test_a_general_step_begins_at_lengths_with_enough_rounds() -> None:
    last = {LENGTH: 100, ROUND: 1 << 30}
    moving = Moving(last)
    fake: Any = SimpleNamespace(
        _general=SimpleNamespace(restarts=0),
        repeats=[],
        launch=SimpleNamespace(places=SimpleNamespace(moving=moving)),
        _last=last,
    )
    with pytest.raises(SplitError, match=f"{LENGTH} below 2") as told:
        Rounds.failed(fake, SimpleNamespace(), CoupledError(0))  # pyright: ignore[reportArgumentType]
    assert (told.value.name, told.value.at) == (LENGTH, 2)


def fake_launch(translations: Any = None) -> Any:
    moves = {"x": {}, "x@1": {LENGTH: 8}}
    launch: Any = SimpleNamespace(moves=moves, translations=translations, apart=set(), data=Data(), places=Places())
    launch.use_of = lambda name, slopes: Launch.use_of(launch, name, slopes)
    launch.use_at_end = lambda use, step: Launch.use_at_end(launch, use, step)
    launch.unsupported = lambda message, _: AssertionError(message)
    return launch


def test_elements_behind_a_loop_have_the_name_of_their_way() -> None:
    launch = fake_launch()
    element = launch.data.made(atom("x", (5, 2)), f32)
    assert advanced(element, 3, launch, {}, is_general=False, is_open=True) is atom("x@1", (11,))
    assert advanced(element, 3, launch, {}, is_general=False) is atom("x", (11,))
    translations = Translations(launch.data, [(0, 0, 0), (1, 0, 0)])
    translations._far |= {"x": [0, 4], "x@1": [0, 4]}
    translations.moves |= {"x": (4, 0, 0)}
    launch = fake_launch(translations)
    launch.data.made(atom("x", (5, 2)), f32)
    assert advanced(element, 3, launch, {}, is_general=False, is_open=True) is atom("x@1", (11,))
    translations._far["x@1"] = [0, 8]  # threads do not move alike in the way at the end
    with pytest.raises(UnsupportedError, match="elements of x that move in few ways"):
        advanced(element, 3, launch, {}, is_general=False, is_open=True)


def test_only_whole_elements_have_a_name_of_their_way() -> None:
    launch = fake_launch()
    launch.apart.add("x")
    launch.places.moving = Moving({LENGTH: 5})
    fake: Any = SimpleNamespace(launch=launch)
    region: Any = SimpleNamespace(name="x")
    element = launch.data.made(atom("x", (5,)), f32)
    address = placed(64, ((LENGTH, 8),))
    assert Transfers.used(fake, region, address, element, 0) is atom("x@1", (5,))
    assert Transfers.used(fake, region, placed(64, (("y", 1),)), element, 0) is element
    with pytest.raises(AssertionError, match="whole elements"):
        Transfers.used(fake, region, address, 3, 0)


def test_an_access_that_leaves_a_longer_array_in_a_later_step() -> None:
    moving = Moving({LENGTH: 100, ROUND: 98}, until=2)
    fake: Any = SimpleNamespace(launch=SimpleNamespace(places=SimpleNamespace(moving=moving)))
    fake._rooms = lambda region, offset, size, slopes: Transfers._rooms(fake, region, offset, size, slopes)
    region: Any = SimpleNamespace(size_bytes=8, grows={LENGTH: 4})
    Transfers._check_steps(fake, region, 4, 0, 4, {})
    for offset, step in ((16, 4), (0, -4)):
        with pytest.raises((SplitError, CoupledError)):
            Transfers._check_steps(fake, region, step, offset, 4, {})
    with pytest.raises(SplitError, match=f"{ROUND} below 0"):
        Transfers._check_steps(fake, region, -4, -4, 4, {})
