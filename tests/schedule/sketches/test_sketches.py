"""Sketches with open parameters: the search finds what trying every setting finds, and its bound never lies."""

from __future__ import annotations

import importlib
from itertools import islice, product
from types import SimpleNamespace

import numpy as np
import pytest

from warploom.core import UserError
from warploom.ir import IndexConst, index_text, run
from warploom.kernels import line, mult64_reg, random_arrays, reference
from warploom.kernels.tunables import is_tunable, products, tunable_sketch
from warploom.kernels.tunables.records import good_units
from warploom.kernels.tunables.windows import WIDEST_RUN
from warploom.machines import architecture
from warploom.schedule.sketches import ALIKE, FamilyModel, Modelled, TunableSketch, Tuning, tunable
from warploom.schedule.sketches.cost import compulsory
from warploom.solve import Incumbent, OrderName, declared_order, order_named, ordered, run_order, search
from warploom.synth import Filling

SIZES = {"n": 1 << 16}
SM_80 = architecture("sm_80")
WORDS = {"aos-store-6": {"unit": 2}, "aos-sum-4": {"unit": 1}}


def family() -> TunableSketch:
    @tunable(sizes=SIZES, outputs=[1, 2], warps=[1, 2])
    def conv(outputs: int, warps: int):
        return line.conv1d(3, outputs, warps)

    return conv


def model(of: TunableSketch, **fixed: str) -> FamilyModel:
    return FamilyModel(of, of.sizes, architecture("sm_80"), measures=False, fixed=fixed)


def only(of: TunableSketch, **setting: Tuning) -> TunableSketch:
    parameters = {name: (setting[name],) if name in setting else values for name, values in of.parameters.items()}
    return TunableSketch(of.name, parameters, of.build, of.sizes)


def test_the_search_finds_the_best_of_all_settings() -> None:
    settings = [{"outputs": o, "warps": w} for o in (1, 2) for w in (1, 2)]
    found = [search(model(only(family(), **setting)), strategy=declared_order) for setting in settings]
    best = min(outcome.answers[0][0] for outcome in found)
    tried = model(family())
    outcome = search(tried, strategy=declared_order)
    assert outcome.complete and not tried.given_up
    assert outcome.answers[0][0] == best
    assert outcome.answers[0][1].report.verdict == "proved"
    assert tried.completed < 4


@pytest.mark.parametrize("name", [pytest.param("conv1d-3", marks=pytest.mark.slow), "mult32", "aos-store-3"])
def test_the_most_promising_setting_has_a_usual_block(name: str) -> None:
    tried = FamilyModel(tunable_sketch(name), tunable_sketch(name).sizes, architecture("sm_90"), measures=False)
    root = tried.root()
    assert root is not None
    setting, _ = tried.hole_values(root)
    assert setting["warps"] in (4, 8)


def test_of_times_alike_usual_blocks_are_taken_then_fewer_instructions() -> None:
    """Both placements are as fast as the bus; side by side, a lane's outputs share what a shuffle brings."""

    @tunable(sizes={"n": 1 << 22}, warps=[1, 4], placed=["apart", "runs"])
    def conv(warps: int, placed: str):
        return (line.conv1d_runs if placed == "runs" else line.conv1d)(5, 4, warps)

    of = FamilyModel(conv, conv.sizes, architecture("sm_90"), measures=False)
    cost, tuned = search(of, strategy=declared_order).answers[0]
    assert tuned.setting == {"warps": 4, "placed": "runs"}
    apart = FamilyModel(only(conv, warps=4, placed="apart"), conv.sizes, architecture("sm_90"), measures=False)
    others, other = search(apart, strategy=declared_order).answers[0]
    assert (cost[0], cost[1]) == (others[0], others[1]) == (0, 0)
    assert cost[2] < others[2] and tuned.modelled.issue_ms < other.modelled.issue_ms


@pytest.mark.parametrize("name", ["aos-sum-7", pytest.param("aos-store-7", marks=pytest.mark.slow)])
def test_selects_that_holes_need_count_among_kernels_alike(name: str) -> None:
    """With open holes the permutations of registers cost nothing; the kernel through shared memory has no select."""
    of = tunable_sketch(name)
    tried = FamilyModel(of, of.sizes, architecture("sm_90"), measures=False)
    outcome = search(tried, strategy=tried.next_choice)
    assert outcome.complete and outcome.answers[0][1].setting == {"order": "shared", "unit": 1, "warps": 4}
    assert tried.completed <= 3  # what one setting's holes became tells of others with the same holes


def test_holes_with_few_functions_are_decided_first() -> None:
    tried = model(family())
    first = len(family().parameters)
    assert tried.next_choice([(first, 2), (1, 3), (0, 9)]) == 0
    assert tried.next_choice([(first, 8), (first + 1, 2)]) == first + 1


def test_an_unusual_block_is_taken_where_it_is_faster_by_a_step() -> None:
    of = model(family())
    bus = Modelled({"memory": of._bus_ms})
    assert of._cost(0, bus)[:2] == (1, 1), "32 threads"
    below, alike, faster = (of._step(ms * of._bus_ms) for ms in (0.9, 1 + ALIKE / 2, 1 + 2 * ALIKE))
    assert (below, of._step(of._bus_ms), alike, faster) == (0, 0, 0, 1)


def test_bounds_are_below_what_is_behind_them() -> None:
    tried = model(family())
    open_candidates = [tried.root()]
    answers = 0
    while open_candidates:
        candidate = open_candidates.pop()
        assert candidate is not None
        choices = tried.open_choices(candidate)
        if not choices:
            answer = tried.answer(candidate)
            assert answer is not None and tried.bound(candidate) <= answer[0]
            answers += 1
            continue
        ways = (a.expand() for a in tried.alternatives(candidate, declared_order(choices)))
        for child in islice((c for c in ways if c is not None), 2 if len(candidate.settings) > 1 else 1):
            assert tried.bound(candidate)[:2] <= tried.bound(child)[:2]
            open_candidates.append(child)
    assert answers


@pytest.mark.parametrize("order", [("lane", "row", "k"), ("weight",)])
def test_holes_may_be_decided_before_the_parameters(order: tuple[str, ...]) -> None:
    usual, tried = search(model(sizes_of_filter()), strategy=declared_order), model(sizes_of_filter())
    outcome = search(tried, strategy=ordered([tried.names.index(name) for name in order]))
    assert outcome.complete
    assert outcome.answers[0][0][:2] == usual.answers[0][0][:2]
    assert outcome.answers[0][1].setting == usual.answers[0][1].setting


@pytest.mark.parametrize("order", ["best-first", "mcts", "refine"])
def test_every_order_of_the_search_finds_the_best(order: OrderName) -> None:
    family_of_one = only(sizes_of_filter(), k=3)
    best = search(model(family_of_one), strategy=declared_order).answers[0]
    tried = model(family_of_one)
    found = run_order(Incumbent(tried), order_named(order, seed=1, patience=3))
    assert found.answers[0][0] == best[0]
    assert found.answers[0][1].report.verdict == "proved"
    assert found.complete == (order != "refine")


def sizes_of_filter() -> TunableSketch:
    @tunable(sizes=SIZES, k=[2, 3])
    def conv(k: int):
        return line.conv1d(k, 1, 1)

    return conv


def test_a_decided_hole_rules_out_settings() -> None:
    tried = model(sizes_of_filter())
    root = tried.root()
    assert root is not None
    children = {a.value: a.expand() for a in tried.alternatives(root, tried.names.index("weight"))}
    mirrored, straight = children["2 - k"], children["k"]
    assert mirrored is not None and straight is not None
    assert (mirrored.settings, straight.settings) == ((1,), (0, 1))
    assert tried.open_values(straight) == {"k": [2, 3]}


def test_holes_decided_by_hand() -> None:
    tried = model(sizes_of_filter(), weight="2 - k")
    outcome = search(tried, strategy=declared_order)
    assert outcome.complete
    tuned = outcome.answers[0][1]
    assert tuned.setting == {"k": 3}
    assert tuned.report.verdict == "proved"
    holes = tuned.report.completions[0].holes
    assert index_text(holes["weight"], ("k", "lane")) == "2 - k"
    assert index_text(holes["lane"], ("lane", "k")) == "(lane - k + 2) % 32"
    nothing = model(only(sizes_of_filter(), k=3), weight="2 - k", lane="(lane + k) % 32")
    assert search(nothing).answers == ()
    assert nothing.why_none() == "no completion holds what was decided"


def test_values_of_holes_are_those_that_propagation_leaves() -> None:
    tried = model(only(family(), outputs=1, warps=1), row="0 if lane >= k else 1")
    root = tried.root()
    assert root is not None
    setting, values = tried.hole_values(root)
    assert setting == {"outputs": 1, "warps": 1}
    assert values == {"lane": ["(lane + k) % 32"], "weight": ["k"]}


@pytest.mark.parametrize(
    ("fixed", "expected"),
    [({"lana": "k"}, "expected a parameter or a hole"), ({"lane": "j"}, "got 'j' in 'j', decided for hole lane"),
     ({"lane": "lane +"}, "expected an index expression")],
)  # fmt: skip
def test_what_is_no_decision(fixed: dict[str, str], expected: str) -> None:
    with pytest.raises(UserError, match=expected):
        model(family(), **fixed)


def test_a_hole_of_many_functions_waits_for_the_parameters(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = model(family())
    monkeypatch.setattr(Filling, "values", lambda *_, **__: {"lane": None})
    with pytest.raises(UserError, match="few functions before the parameters"):
        search(tried, strategy=ordered([tried.names.index("lane")]))


def test_without_a_budget_the_first_kernel_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.import_module(FamilyModel.__module__), "DEFAULT_S", 0.0)
    outcome = search(model(family()), strategy=declared_order)
    assert (len(outcome.answers), outcome.reason) in ((1, "budget: wall seconds"), (1, ""))
    spent = FamilyModel(family(), SIZES, architecture("sm_80"), 0.0, measures=False)
    assert search(spent, strategy=declared_order).reason == "budget: wall seconds"


def test_the_kernel_found_computes_the_convolution() -> None:
    outcome = search(model(family()), strategy=declared_order)
    tuned = outcome.answers[0][1]
    assert tuned.report.kernel is not None
    sizes = {"n": 300}
    arrays = random_arrays(tuned.report.kernel, sizes)
    result = run(tuned.report.kernel, arrays, sizes)
    for name, expected in reference.conv1d(**arrays).items():
        np.testing.assert_allclose(result.arrays[name], expected, rtol=1e-4, atol=1e-5)


def test_settings_that_do_not_go_together_are_left_out() -> None:
    @tunable(sizes=SIZES, warps=[1, 64])
    def conv(warps: int):
        return line.conv1d(3, 1, warps)

    tried = model(conv)
    outcome = search(tried, strategy=declared_order)
    assert outcome.answers[0][1].setting == {"warps": 1}
    assert [setting for setting, _ in tried.refused] == [{"warps": 64}]


def test_a_sketch_without_parameters_is_completed() -> None:
    outcome = search(model(TunableSketch.of(line.conv1d(3, 1, 1))), strategy=declared_order)
    assert outcome.answers[0][1].setting == {}


@pytest.mark.parametrize(
    ("values", "expected"),
    [({}, "got none for outputs"), ({"outputs": [1], "lanes": [2]}, "got lanes"), ({"outputs": []}, "got an empty list")],
)
def test_values_must_fit_the_arguments(values: dict[str, list[int]], expected: str) -> None:
    with pytest.raises(UserError, match=expected):
        tunable(**values)(lambda outputs: line.conv1d(3, outputs, 1))


def test_outputs_side_by_side_are_a_choice_where_they_can_be() -> None:
    family = tunable_sketch("conv2d-3")
    assert len(family.build(outputs=(4, 4), warp_shape=(1, 32), warps=4, placed="runs").kernel.holes) == 2
    for setting in ({"outputs": (8, 1), "warp_shape": (1, 32)}, {"outputs": (4, 4), "warp_shape": (4, 8)}):
        with pytest.raises(UserError, match="TUNABLE"):
            family.build(**setting, warps=4, placed="runs")
    with pytest.raises(UserError, match="TUNABLE"):
        tunable_sketch("conv1d-3").build(outputs=8, warps=4, placed="runs")
    places = {k: tunable_sketch(f"conv2d-{k}").parameters["placed"] for k in (WIDEST_RUN, WIDEST_RUN + 1)}
    assert places == {WIDEST_RUN: ("runs", "apart"), WIDEST_RUN + 1: ("apart",)}


def test_a_name_that_says_more_leaves_less_open() -> None:
    parameters = {name: tunable_sketch(name).parameters for name in ("mult64-reg", "mult64-shared", "aos-store-rcr-6")}
    assert parameters["mult64-reg"]["memory"] == ("registers", "broadcast")
    assert parameters["mult64-shared"]["memory"] == ("shared",)
    assert (parameters["aos-store-rcr-6"]["order"], parameters["aos-store-rcr-6"]["unit"]) == (("rcr",), (2,))
    assert tunable_sketch("aos-store-crc-8-units").parameters["unit"] == (4,)
    assert tunable_sketch("aos-sum-crc-8-direct").parameters["unit"] == (1,)


def test_library_families() -> None:
    assert is_tunable("conv2d-3") and is_tunable("mult64") and is_tunable("ffm-32") and is_tunable("aos-sum-3")
    assert not is_tunable("conv2d") and not is_tunable("wall/mult128-reg")
    assert set(tunable_sketch("conv2d-3").parameters) == {"outputs", "warp_shape", "warps", "placed"}
    with pytest.raises(UserError, match=r"conv2d-K \(2 to 64\).*got 'conv2d-99'"):
        tunable_sketch("conv2d-99")
    parameters = {name: dict(tunable_sketch(name).parameters) for name in ("mult32", "ffm-64", "aos-store-6", "aos-sum-4")}
    assert {name: [*values] for name, values in parameters.items()} == {
        "mult32": ["memory", "warps"], "ffm-64": ["memory", "warps"], "aos-store-6": ["order", "unit", "warps"],
        "aos-sum-4": ["order", "unit", "warps"],
    }  # fmt: skip
    # Six and ten units have no permutation by columns and rows; 24 words have no better unit.
    assert [good_units(words) for words in (1, 4, 6, 10, 12, 24)] == [(1,), (1, 2, 4), (2,), (2,), (4,), (1, 2, 4)]


@pytest.mark.parametrize("name", ["mult32", "aos-store-6", "aos-sum-4"])
def test_families_of_the_library_build_every_setting(name: str) -> None:
    of = tunable_sketch(name)
    for values in product(*of.parameters.values()):
        setting = dict(zip(of.parameters, values, strict=True))
        kernel = of.build(**setting).kernel
        assert kernel.threads == 32 * int(str(setting["warps"]))
        # A vector of words is as many bytes as its words: the same memory, whatever the unit.
        assert compulsory(kernel, of.sizes, SM_80).ms == pytest.approx(
            compulsory(of.build(**setting | WORDS.get(name, {})).kernel, of.sizes, SM_80).ms
        )


def test_a_family_of_structures_is_searched_with_its_units_and_warps() -> None:
    outcome = search(model(only(tunable_sketch("aos-sum-2"), warps=2)), strategy=declared_order)
    tuned = outcome.answers[0][1]
    assert (outcome.complete, tuned.report.verdict, tuned.setting["order"]) == (True, "proved", "crc")


def test_a_field_is_filled_as_its_product_is(monkeypatch: pytest.MonkeyPatch) -> None:
    holes = {hole.name: hole for hole in mult64_reg().kernel.holes}
    found = SimpleNamespace(completions=[SimpleNamespace(holes={name: IndexConst(0) for name in holes})])
    monkeypatch.setattr(products, "complete", lambda tile: found)
    products._filled.cache_clear()
    assert not tunable_sketch("ffm-32").build(memory="registers", warps=2).kernel.holes
    products._filled.cache_clear()
    assert not tunable_sketch("ffm-32").build(memory="shared", warps=1).kernel.holes
