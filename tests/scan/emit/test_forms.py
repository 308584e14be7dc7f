"""Backward, segmented and exclusive scans, and scans of cells in shared memory, as CUDA: against the loop, and their movement."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from warploom import scan
from warploom.core import UnsupportedError, UserError
from warploom.gpu import toolchain_available
from warploom.ir.swizzle import Composition, Rot, Xor
from warploom.scan.emit import Asked, Cells, Choices, compare, cuda_scan, movement, printable, shared_scan, source_of
from warploom.scan.emit import cuda as cuda_module
from warploom.scan.emit.serial import edges, of_form
from warploom.scan.emit.shared import place
from warploom.scan.layouts import Lookup, Padding, Plain, Remap, Swizzle, addresses
from warploom.scan.networks import NAMED
from warploom.scan.operators.printing import compiled
from warploom.scan.tasks import loops_module
from warploom.scan.variants import ScanForm, variant_operator
from warploom.tools.cli import scan as scan_command

FORMS = [ScanForm(True), ScanForm(False, True), ScanForm(True, True)]
SMALL = Choices(threads=64, items=2)
XOR = Swizzle(32, Composition("i", (Xor(32, 1),)))
needs_tools = pytest.mark.skipif(not toolchain_available(), reason="needs the CUDA tools (extra cuda)")


def operator(name: str) -> scan.Operator:
    found = scan.lift(scan.read_loop(loops_module(), name)).operator
    assert found is not None
    return found


def cells(name: str = "brent-kung", columns: int = 64, remap: Remap | None = None) -> Cells:
    return Cells(name, NAMED[name](columns), remap or Padding((32,)))


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_values_of_a_form_fold_to_the_loops_results(form: ScanForm) -> None:
    plain = operator("max_segment_sum")
    made = variant_operator(plain, form)
    given = [(v,) for v in (3, -1, 4, -1, 5, -9, 2, -6)]
    flags = edges(len(given), 2)
    wanted = of_form(plain.loop, form, given, flags if form.is_segmented else None, ())
    lift = compiled(list(made.loop.fields), made.lift)
    combine = compiled([*made.fields, *made.right], made.combine)
    project = compiled(list(made.fields), made.projection)
    values = [lift(*e, *([f] if form.is_segmented else [])) for e, f in zip(given, flags, strict=True)]
    order = range(len(given))[::-1] if form.is_backward else range(len(given))
    held = tuple(e.value for e in made.identity)
    for i in order:
        held = combine(*held, *values[i])
        assert tuple(project(*held)) == wanted[i]


@needs_tools
@pytest.mark.parametrize("form", FORMS, ids=str)
def test_all_kernels_of_a_form(form: ScanForm) -> None:
    made = shared_scan(operator("atoi"), cells(), None, SMALL, form=form)
    assert [k for k in made.kernels if "reduce" in k] == [] and len(made.kernels) == 8
    found = compare(made)
    assert not found.mismatch
    assert found.cases > 300


@needs_tools
@pytest.mark.parametrize("form", FORMS, ids=str)
def test_movement_of_a_form_is_proved(form: ScanForm) -> None:
    found = movement(operator("total"), None, None, (32, 96), form, cells())
    assert found.is_proved, found.reason
    assert "cells of blocks of 64" in found.domain


@needs_tools
@pytest.mark.parametrize("remap", [Plain(), XOR, Lookup(tuple((e * 5) % 64 for e in range(64)))], ids=str)
def test_places_of_cells(remap: Remap) -> None:
    made = shared_scan(operator("max_segment_sum"), cells("sklansky", 64, remap))
    assert not compare(made, ("scan_block_shared", "scan_block_shared_exclusive"), (1, 70)).mismatch


@needs_tools
@pytest.mark.parametrize(
    ("form", "right", "wrong"),
    [
        (ScanForm(True), "end - 1 - place", "end - place"),
        (ScanForm(True), "place, end = first + part < n ? first + part : n", "place, end = first + part"),
        (ScanForm(False, True), "outside(before, own)", "before"),
        (ScanForm(True), "n - 1 - start - j", "n - start - j"),
        (ScanForm(True), "n - TILE - start", "start"),
        (ScanForm(True), "THREADS * PACKS - 1 - pack", "pack"),
        (ScanForm(True), "pack.part[WIDTH - 1 - part]", "pack.part[part]"),
    ],
)
def test_wrong_forms_are_found(form: ScanForm, right: str, wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = cuda_module.form_parts
    monkeypatch.setattr(cuda_module, "form_parts", lambda *a: {k: v.replace(right, wrong) for k, v in parts(*a).items()})
    kernel = "scan_device" if "start" in right or "pack" in right else "scan_block_exclusive"
    try:
        assert compare(cuda_scan(operator("total"), None, SMALL, form=form), (kernel,), (70, 250)).mismatch  # type: ignore[arg-type]
    except RuntimeError as error:
        assert "bounds" in str(error) or "race" in str(error)


@pytest.mark.parametrize("period", [1, 2, 4])
def test_swizzles_by_bits_of_the_row_are_expressions(period: int) -> None:
    remap = Swizzle(32, Composition("i", (Xor(32, period),)))
    text = place(remap)
    e = np.arange(1024)
    assert (eval(text.replace("/", "//"), {"e": e}) == addresses(remap, 1024)).all()
    turned = Swizzle(32, Composition("i", (Rot(32, 3),)))
    assert printable(remap, 64) is remap
    assert printable(turned, 64) == Lookup(tuple(int(a) for a in addresses(turned, 64)))


def test_other_targets_and_sizes_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="NumPy"):
        source_of(operator("total"), "numpy", asked=Asked(ScanForm(True)))
    with pytest.raises(UserError, match="cells in at most"):
        shared_scan(operator("total"), cells(columns=48))
    with pytest.raises(UserError, match="bytes"):
        shared_scan(operator("total"), cells("kogge-stone", 1024, Lookup(tuple(range(0, 20480, 20)))))


def test_command() -> None:
    target = f"{loops_module().file}:total"

    def line(*arguments: str) -> dict[str, object]:
        done = CliRunner().invoke(scan_command, ["emit", target, "--target", "cuda", "--no-check", *arguments, "--json"])
        return {"code": done.exit_code, **json.loads(done.stdout)}

    found = line("--backward", "--segmented", "--layout", "padding", "--threads", "64")
    assert (found["code"], found["variant"]) == (0, "backward segmented (tails) scan")
    assert found["cells"] == {"columns": 64, "network": "brent-kung", "layout": "e + e // 32"}
    assert "scan_block_shared_exclusive" in str(found["source"])
    assert "variant" not in line() and "cells" not in line()
    assert line("--layout", "table")["code"] == 2
    assert line("--block-network", "knowles-1112", "--threads", "64")["code"] == 2
    assert line("--block-network", "nothing")["code"] == 2
    assert line("--layout", "best", "--threads", "50")["code"] == 2
