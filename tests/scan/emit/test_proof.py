"""Kernels of `scan emit` proved from their PTX with an unknown operator; planted bugs are refuted or unchecked, never proved."""

import json
import sqlite3
import zlib
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from warploom import scan
from warploom.core.limits import LimitReachedError
from warploom.gpu import toolchain_available
from warploom.scan.emit import Cells, Choices, CudaScan, Emitted, Movement, Types, cuda_scan, opaque_scan
from warploom.scan.emit import program as program_module
from warploom.scan.emit.running import Comparison
from warploom.scan.layouts import Lookup, Padding
from warploom.scan.networks import NAMED
from warploom.scan.tasks import loops_module
from warploom.scan.variants import FORWARD, ScanForm
from warploom.tools.cli import scan as scan_command
from warploom.tools.scan import emit as emit_module
from warploom.tools.scan import functions as functions_module
from warploom.tools.scan import proof as proof_module
from warploom.tools.scan.functions import FunctionsProof, prove_functions
from warploom.tools.scan.movement_proof import kept_or_proved
from warploom.tools.scan.proof import MovementProof, Proof, prove_movement

pytestmark = pytest.mark.skipif(not toolchain_available(), reason="needs the CUDA tools (extra cuda)")


def operator(name: str) -> scan.Operator:
    found = scan.lift(scan.read_loop(loops_module(), name)).operator
    assert found is not None
    return found


def opaque(name: str, form: ScanForm = FORWARD, types: Types | None = None) -> CudaScan:
    return opaque_scan(operator(name), types, Choices(), form, Cells("sklansky", NAMED["sklansky"](64), Padding((32,))))


@pytest.mark.parametrize(
    ("name", "form", "types"),
    [
        ("total", FORWARD, None),
        ("atoi", ScanForm(True), Types("int64")),
        ("average", ScanForm(False, True), Types("int64", "float64")),
        ("is_sorted", ScanForm(True, True), None),
    ],
)
def test_movement_is_proved_with_an_unknown_operator(name: str, form: ScanForm, types: Types | None) -> None:
    found = prove_movement(opaque(name, form, types), threads=(64,))
    assert found.verdict == "proved", found.reason
    launches = [[64, 1], [64, 64], [64, 97]]
    assert found.sizes == {"launches": launches, "cells": launches}
    assert found.domain.startswith("every associative operator with an identity")
    assert ("truth values" in found.domain) == (form.is_segmented or name == "is_sorted")


def test_a_table_of_places_is_what_the_text_says() -> None:
    """Places turned round; with two cells at one place the kernel is wrong."""
    places = Lookup((0, *range(31, 0, -1)))
    made = opaque_scan(operator("total"), None, Choices(), FORWARD, Cells("sklansky", NAMED["sklansky"](32), places))
    assert "{0, 31, 30, " in made.source
    found = prove_movement(made, threads=(32,))
    assert found.verdict == "proved" and "PLACES as the file initialises it" in found.domain, found.reason
    wrong = replace(made, source=made.source.replace("{0, 31, 30, ", "{0, 0, 30, "))
    assert prove_movement(wrong, threads=(32,)).verdict == "refuted"


def test_a_proof_is_kept_for_its_text_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second proof of one text is read; of another text, of other launches, or from a record that is no proof, it is made."""
    monkeypatch.setenv("WARPLOOM_CACHE", str(tmp_path))
    made = opaque("total")
    proved = MovementProof("proved", ("scan_warp",), {"launches": [[32, 1]]}, "every operator")

    def is_kept(text: str, launches: list[int], found: MovementProof = proved) -> bool:
        return kept_or_proved(made, text, list(launches), lambda: found).is_kept

    assert not is_kept("text", [32]) and is_kept("text", [32])
    assert kept_or_proved(made, "text", [32], lambda: MovementProof("refuted")) == replace(proved, is_kept=True)
    assert not is_kept("text ", [32]) and not is_kept("text", [64])
    for verdict in ("refuted", "unchecked"):
        assert not any(is_kept(verdict, [32], replace(proved, verdict=verdict)) for _ in range(2))
    for damaged in ("{}", json.dumps({"kernels": ["scan_warp"], "sizes": {"launches": []}, "domain": "all"})):
        with closing(sqlite3.connect(tmp_path / "results.sqlite")) as database, database:
            for (key,) in database.execute("SELECT key FROM results").fetchall():
                checksum = zlib.crc32(f"{key}\0{damaged}".encode())
                database.execute("UPDATE results SET value = ?, checksum = ? WHERE key = ?", (damaged, checksum, key))
        assert not is_kept("text", [32])
    assert is_kept("text", [32])


BUGS = {
    "a wrong shuffle distance": (FORWARD, "shuffle_up(v, 4)", "shuffle_up(v, 5)", "refuted"),
    "operands swapped": (FORWARD, "v = combine(left, v);", "v = combine(v, left);", "refuted"),
    "operands swapped over warps": (FORWARD, "combine(earlier, mine)", "combine(mine, earlier)", "refuted"),
    "no barrier after the totals": (
        FORWARD, "if (lane == 31) totals[warp] = mine;\n    __syncthreads();", "if (lane == 31) totals[warp] = mine;", "refuted",
    ),
    "a value in place of the identity": (FORWARD, "if (lane == 0) up = identity();", "", "refuted"),
    "an element beyond the end": (FORWARD, "if (i < n) v = lift", "if (i <= n) v = lift", "refuted"),
    "the last element left out": (FORWARD, "if (i < n) v = lift", "if (i < n - 1) v = lift", "refuted"),
    "the last result left out": (FORWARD, "if (i < n) write", "if (i < n - 1) write", "refuted"),
    "a step of the cells without a barrier": (FORWARD, "put(cells, k, v);\n    __syncthreads();", "put(cells, k, v);", "refuted"),
    "an element that is lifted twice": (FORWARD, "v = lift(read(input, i));",
                                      "v = lift(read(input, i)); v = combine(v, v);", "refuted"),
    "a backward scan that runs forward": (ScanForm(True), "end - 1 - place", "i", "refuted"),
    "an exclusive scan over its segment": (ScanForm(False, True), "v = outside(v, own);", "", "refuted"),
    "a number changed on its way": (FORWARD, "r.acc = __shfl_up_sync(ALL_LANES, v.acc, distance);",
                                    "r.acc = __shfl_up_sync(ALL_LANES, v.acc, distance) ^ 1;", "unchecked"),
}  # fmt: skip


@pytest.mark.parametrize("bug", BUGS)
def test_bugs_of_the_movement_are_never_proved(bug: str) -> None:
    form, right, wrong, verdict = BUGS[bug]
    made = opaque("total", form)
    assert right in made.source
    found = prove_movement(replace(made, source=made.source.replace(right, wrong)), threads=(64,))
    assert found.verdict == verdict, found


@pytest.mark.parametrize(
    "name", ["total", "atoi", "maximum", "third_min", "max_prefix_sum", "poly", "max_segment_sum", "is_sorted", "longest_ones"]
)
def test_functions_are_proved(name: str) -> None:
    found = prove_functions(cuda_scan(operator(name)))
    assert not found.missing and found.domain


@pytest.mark.parametrize("form", [ScanForm(True), ScanForm(False, True), ScanForm(True, True)], ids=str)
def test_functions_of_forms_are_proved(form: ScanForm) -> None:
    assert not prove_functions(cuda_scan(operator("atoi"), form=form)).missing


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ("own.head ? identity() : before", "identity()", "outside"),
        ("own.head ? identity() : before", "own.head ? own : before", "outside"),
        ("b.head ? b.aux1 : a.aux1 * b.aux1", "a.aux1 * b.aux1", "combine"),
        ("a.head || b.head", "b.head", "combine"),
    ],
)
def test_bugs_of_the_functions_of_segments_are_never_proved(
    right: str, wrong: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = functions_module.calling_source
    assert right in original(cuda_scan(operator("atoi"), form=ScanForm(False, True)))
    monkeypatch.setattr(functions_module, "calling_source", lambda made: original(made).replace(right, wrong))
    assert said in prove_functions(cuda_scan(operator("atoi"), form=ScanForm(False, True))).missing


@pytest.mark.parametrize(
    ("name", "right", "wrong", "said"),
    [
        ("total", "r.acc = 0;", "r.acc = 1;", "identity"),
        ("atoi", "b.value_ + b.aux1 * a.value_", "a.value_ + a.aux1 * b.value_", "combine"),
        ("maximum", "largest<int>(a.most_, b.most_)", "a.most_", "combine"),
        ("total", "r.acc = element.x;", "r.acc = element.x + 1;", "lift"),
        ("max_segment_sum", "a.sum_x + b.sum_x", "a.sum_x", "combine"),
        ("max_segment_sum", "b.best_prefix_x == INT_BELOW ? INT_BELOW : a.aux1", "a.aux1", "combine"),
        ("is_sorted", "b.some ? b", "a.some ? b", "combine"),
        ("average", "", "", "not followed"),
    ],
)
def test_bugs_of_the_functions_are_never_proved(
    name: str, right: str, wrong: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = functions_module.calling_source

    def changed(made: CudaScan) -> str:
        text = original(made)
        assert right in text, text
        return text.replace(right, wrong) if right else text

    monkeypatch.setattr(functions_module, "calling_source", changed)
    assert said in prove_functions(cuda_scan(operator(name))).missing


def test_what_a_report_says(monkeypatch: pytest.MonkeyPatch) -> None:
    target = f"{loops_module().file}:total"
    moved = MovementProof("proved", ("scan_block",), {"launches": [[32, 1]]}, "every operator")

    def line(proof: Proof) -> dict[str, object]:
        monkeypatch.setattr(emit_module, "proof_of", lambda *_, **__: proof)
        arguments = ["emit", target, "--target", "cuda", "--threads", "64", "--items", "2", "--json"]
        done = CliRunner().invoke(scan_command, arguments)
        return {"code": done.exit_code, **json.loads(done.stdout)}

    tested = Emitted("text", "tested", 3, movement=Movement(True, 3, "every operator"))
    monkeypatch.setattr(emit_module, "emit", lambda *_, **__: tested)
    found = line(Proof(moved, FunctionsProof("", "int32 wrap")))
    assert (found["code"], found["verdict"], found["proved_at"]) == (0, "tested", {"launches": [[32, 1]]})
    assert found["proof"]["verdict"] == "proved" and "proof_reason" not in found  # type: ignore[index]
    found = line(Proof(moved, FunctionsProof("combine as compiled is not followed")))
    assert found["proof"]["verdict"] == "unchecked" and "combine" in str(found["proof_reason"])  # type: ignore[index]
    assert "proved_at" not in found
    found = line(Proof(replace(moved, verdict="refuted", reason="result 3 combines nothing"), FunctionsProof("")))
    assert (found["code"], found["status"]) == (1, "error") and "judges disagree" in str(found["reason"])


def test_a_spent_budget_keeps_the_text_and_what_was_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def spent(*_: object, **__: object) -> None:
        raise LimitReachedError("budget: CPU seconds")

    def line() -> dict[str, Any]:
        target, out = f"{loops_module().file}:total", tmp_path / "total.cu"
        done = CliRunner().invoke(scan_command, ["emit", target, "--target", "cuda", "--json", "--out", str(out)])
        assert done.exit_code == 0 and "scan_device" in out.read_text()
        out.unlink()
        return json.loads(done.stdout)

    moved = MovementProof("proved", ("scan_block",), {"launches": [[32, 1]]}, "every operator")
    monkeypatch.setattr(program_module, "compare", lambda *_: Comparison(3))
    monkeypatch.setattr(program_module, "movement", lambda *_, **__: Movement(True, 3, "every operator"))
    monkeypatch.setattr(proof_module, "prove_movement", lambda *_: moved)
    monkeypatch.setattr(proof_module, "prove_functions", lambda *_: FunctionsProof("", "int32 wrap"))
    monkeypatch.setattr(proof_module, "prove_whole_arrays", spent)
    found = line()
    assert (found["verdict"], found["proof"]["verdict"]) == ("tested", "proved")
    assert (found["proof"]["whole_arrays"]["verdict"], found["proof"]["whole_arrays"]["reason"]) == (
        "unchecked",
        "budget: CPU seconds",
    )
    monkeypatch.setattr(proof_module, "prove_movement", spent)
    found = line()
    assert (found["verdict"], found["proof"]["verdict"], found["proof_reason"]) == ("tested", "unchecked", "budget: CPU seconds")
    monkeypatch.setattr(program_module, "movement", spent)
    found = line()
    assert found["movement"] == {"verdict": "unchecked", "launches": 0, "reason": "budget: CPU seconds"} and "proof" not in found
    monkeypatch.setattr(program_module, "compare", spent)
    found = line()
    assert (found["verdict"], found["notes"][-1]) == ("unchecked", "not run: budget: CPU seconds") and "movement" not in found
