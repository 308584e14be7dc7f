"""Buffers that are filled ahead as parameters: the model sees what they hide, and its bound is below every completion."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from warploom.ir import IndexConst, fill, run
from warploom.kernels import find, lags
from warploom.kernels.tunables import tunable_sketch
from warploom.machines import architecture
from warploom.schedule.sketches import FamilyModel, Modelled, TunableSketch
from warploom.schedule.sketches.cost import modelled, unfilled
from warploom.schedule.sketches.relaxed import relaxed
from warploom.solve import Incumbent, order_named, run_order
from warploom.synth import read_holes

SM_90, SM_75 = architecture("sm_90"), architecture("sm_75")
FAMILY = tunable_sketch("lags-32")


def time_of(buffers: int, tile: int, rows: int = 132, arch=SM_90) -> Modelled:
    sketch = FAMILY.build(buffers=buffers, tile=tile)
    right = {"other": "i + t"} | ({"buffer": "step % buffers"} if buffers > 1 else {})
    kernel = fill(sketch.kernel, read_holes(sketch, right))
    found, bound = modelled(kernel, {"rows": rows}, arch), unfilled(sketch.kernel, relaxed(sketch.kernel), {"rows": rows}, arch)
    assert all(bound.terms[name] <= found.terms[name] for name in bound.terms if name in found.terms)
    assert bound.ms <= found.ms
    return found


@pytest.mark.parametrize("tile", [32, 64])
def test_more_buffers_hide_more(tile: int) -> None:
    found = [time_of(buffers, tile).block for buffers in (1, 2, 3, 4)]
    assert [b.waited for b in found] == sorted((b.waited for b in found), reverse=True)
    assert found[1].cycles < 0.6 * found[0].cycles
    dram = SM_90.timing.dram_cycles.value
    assert found[0].waited == pytest.approx(256 / tile * dram, rel=0.05)
    assert found[-1].waited == pytest.approx(256 / tile / 4 * dram, rel=0.3)


def test_without_asynchronous_copies_buffers_hide_little() -> None:
    one, two = time_of(1, 32, arch=SM_75).block, time_of(2, 32, arch=SM_75).block
    assert two.waited > 0.8 * one.waited


def test_what_binds_many_rows_is_the_same_for_all() -> None:
    """Other blocks compute while one waits."""
    assert {time_of(buffers, 64, 4096).binds for buffers in (1, 4)} == {"exchange"}


def test_buffers_are_chosen_for_what_they_hide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lags, "LENGTH", 128)
    family = TunableSketch(FAMILY.name, {"buffers": (1, 2), "tile": (32,)}, FAMILY.build, {"rows": 132})
    model = FamilyModel(family, family.sizes, SM_90, measures=False)
    found = run_order(Incumbent(model), order_named("depth-first")).answers[0][1]
    assert (found.setting, found.report.verdict, model.completed) == ({"buffers": 2, "tile": 32}, "proved", 1)
    (other,) = model.others(found.setting)
    assert (other.value, other.modelled.binds, other.is_bound) == (1, "latency", True)
    assert other.modelled.block.waited > 1.9 * found.modelled.block.waited


def test_places_that_a_hole_decides_may_be_in_a_cache() -> None:
    """The bound of the kernel that loads where a hole says: another place may have been loaded before."""
    import warploom as wl
    from warploom import f32

    n = wl.size("n")

    def spec(x, y, n):
        for b in range(n):
            for t in range(32):
                y[b, t] = x[b, t]

    @wl.sketch(spec=spec, block=32, grid=n, complete_at={"n": 2})
    def kernel(x: wl.Global[f32, n, 64], y: wl.Global[f32, n, 32]):
        t, b = wl.thread_id(), wl.block_id()
        tile = wl.shared(f32, 2, 32)
        tile[1, t] = x[b, t + 32]
        wl.sync()
        tile[0, t] = x[b, wl.choose(t, t + 32, name="place")]
        wl.sync()
        y[b, t] = tile[0, t]

    bound = unfilled(kernel.kernel, relaxed(kernel.kernel), {"n": 4}, SM_90)
    for value in ("t", "t + 32"):
        filled = fill(kernel.kernel, read_holes(kernel, {"place": value}))
        assert bound.block.cycles <= modelled(filled, {"n": 4}, SM_90).block.cycles
    elsewhere = fill(kernel.kernel, {"place": IndexConst(0)})
    assert modelled(elsewhere, {"n": 4}, SM_90).block.waited > bound.block.waited


def test_both_kernels_of_the_library_compute_the_sums() -> None:
    example = find("lags-32")
    arrays = example.arrays({"rows": 2})
    right = partial(read_holes, example.sketch)
    kernels = (fill(example.sketch.kernel, right({"other": "i + t", "buffer": "step % buffers"})), example.baseline.kernel)
    for kernel in kernels:
        result = run(kernel, arrays, {"rows": 2})
        assert not result.diagnostics
        assert np.allclose(result.arrays["y"], example.reference(**arrays)["y"], rtol=1e-4, atol=1e-4)


def test_copies_whose_condition_is_a_hole_have_a_bound() -> None:
    """The cheapest that such a copy may be writes zeros everywhere."""
    import warploom as wl
    from warploom import f32

    n = wl.size("n")

    def spec(x, y, n):
        for b in range(n):
            for t in range(32):
                y[b, t] = x[b, t] if t > 0 else 0

    @wl.sketch(spec=spec, block=32, grid=n, complete_at={"n": 2})
    def kernel(x: wl.Global[f32, n, 32], y: wl.Global[f32, n, 32]):
        t, b = wl.thread_id(), wl.block_id()
        tile = wl.shared(f32, 32)
        wl.memcpy_async(tile[t], x[b, t], valid=t >= wl.choose(0, 1, 32, name="first"))
        wl.pipeline_commit()
        wl.pipeline_wait_prior(0)
        y[b, t] = tile[t]

    bound = unfilled(kernel.kernel, relaxed(kernel.kernel), {"n": 4}, SM_90)
    assert "exchange" in bound.terms
    for value in ("0", "1", "32"):
        found = modelled(fill(kernel.kernel, read_holes(kernel, {"first": value})), {"n": 4}, SM_90)
        assert bound.block.cycles <= found.block.cycles
        assert all(bound.terms[name] <= found.terms[name] for name in bound.terms if name in found.terms)
