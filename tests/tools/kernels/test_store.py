"""Kernels that were found are kept, found again, and never run when they could be another's, damaged or stale."""

# ruff: noqa: F821 (indices and sizes are names of the language)
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import warploom as wl
from warploom import f32
from warploom.schedule.calls import CompiledRunner, pack
from warploom.schedule.cpu import plain_nest
from warploom.solve.runs import keys
from warploom.tools.cli import cli
from warploom.tools.kernels import store
from warploom.tools.kernels.class_records import class_program
from warploom.tools.kernels.tuning import known_class, known_runner, plain_program


@wl.tensor
def doubled(X: f32["n"], Y: wl.out[f32["n"]]):
    Y[i] = X[i] + X[i]


PROGRAM = plain_program(doubled, {"n": 8})


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    tmp_path.chmod(0o700)
    monkeypatch.setenv("WARPLOOM_CACHE", str(tmp_path / "cache"))
    found = store.store_folder(make=True)
    assert found == tmp_path / "cache" / "kernels"
    return found


def record(**more: Any) -> dict[str, Any]:
    found = {"function": "doubled", "key": store.key_of(PROGRAM, 1), "kind": "found", "sizes": {"n": 8}, "threads": 1}
    return {**found, "stages": pack([plain_nest(s) for s in PROGRAM.stages]), **more}


def runner() -> Any:
    return known_runner(doubled, {"n": 8}, 1)


def test_what_was_kept_runs(folder: Path) -> None:
    assert runner() is None
    path = store.add(folder, record())
    assert path.stat().st_mode & 0o777 == 0o600
    found, X, Y = runner(), np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    assert isinstance(found, CompiledRunner) and found.kind == "found"
    found.run([X, Y], [])
    np.testing.assert_array_equal(Y, X + X)
    assert known_runner(doubled, {"n": 8}, 2) is None and known_runner(doubled, {"n": 9}, 1) is None
    store.add(folder, record(kind="plain", stages=[]))
    assert runner().kind == "plain"


def changed(path: Path, **fields: Any) -> None:
    """By somebody who knows the format: with a digest that fits."""
    found = {**json.loads(path.read_text()), **fields}
    found.pop("digest")
    path.write_text(json.dumps({**found, "digest": store._digest(found)}))  # pyright: ignore[reportPrivateUsage]


def damaged(path: Path) -> None:
    path.write_text(path.read_text().replace("8", "9", 1))


def linked(path: Path) -> None:
    path.rename(path.with_suffix(".old"))
    path.symlink_to(path.with_suffix(".old"))


def fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize(
    "spoil",
    [
        damaged,
        lambda p: p.write_bytes(b"\x80\x04."),
        lambda p: p.write_text("[" * 100_000),
        lambda p: p.write_text("{}"),
        lambda p: p.chmod(0o620),
        lambda p: p.parent.chmod(0o777),
        linked,
        fifo,
        lambda p: changed(p, key="0" * 64),
        lambda p: changed(p, machine="another"),
        lambda p: changed(p, format=2),
        lambda p: changed(p, stages=[]),
        lambda p: changed(p, stages=[{**record()["stages"][0], "units": -1}]),
        lambda p: changed(p, stages=[{**record()["stages"][0], "arrays": ["Z"]}]),
        lambda p: changed(p, stages=[{**record()["stages"][0], "c": "no C"}]),
    ],
)
def test_files_that_do_not_count_are_never_run(folder: Path, spoil: Callable[[Path], object]) -> None:
    path = store.add(folder, record())
    assert runner() is not None
    spoil(path)
    assert runner() is None


def test_files_of_another_owner_and_of_other_versions(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = store.add(folder, record())
    with monkeypatch.context() as patch:
        patch.setattr(store.os, "getuid", lambda: os.geteuid() + 1)
        assert store.read(path).record is None
    monkeypatch.setattr(keys, "source_digest", lambda: "newer")
    assert runner() is None


def test_without_a_cache_nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WARPLOOM_CACHE", "off")
    assert store.store_folder(make=True) is None and runner() is None


def asked(*arguments: str) -> tuple[int, list[dict[str, Any]]]:
    result = CliRunner().invoke(cli, ["kernels", *arguments, "--json"])
    return result.exit_code, [json.loads(line) for line in result.stdout.splitlines()]


def test_list_export_prune(folder: Path, tmp_path: Path) -> None:
    assert asked("list") == (0, [])
    good = store.add(folder, record(time_ms=1.0, plain_ms=2.0))
    (folder / "odd.json").write_text("?")
    code, lines = asked("list")
    assert code == 0 and [line["counts"] for line in lines] == [True, False]
    assert lines[0]["sizes"] == {"n": 8} and lines[1]["why_not"]
    assert [line["case"] for line in asked("list", "dou*")[1]] == [good.name]

    shipped = tmp_path / "shipped"
    assert asked("export", str(shipped))[1][0]["kernels"] == 1
    code, lines = asked("export", str(shipped), "none*")
    assert code == 2 and "NO_KERNELS" in lines[0]["reason"]
    assert asked("prune")[1][0]["removed"] == ["odd.json"]
    assert asked("prune", "--all", "--older", "1h")[1][0]["removed"] == []
    pruned = asked("prune", "--all")[1][0]
    assert pruned["removed"] == [good.name] and pruned["left"] == 0
    assert runner() is None and known_runner(doubled, {"n": 8}, 1, shipped) is not None

    text = CliRunner().invoke(cli, ["kernels", "list"]).stdout
    assert "no kernels" in text


def class_record(multiple: int, **more: Any) -> dict[str, Any]:
    program = class_program(doubled, {"n": 8}, {"n": multiple})
    key = store.key_of(program, 1, {"n": multiple})
    found = {"function": "doubled", "key": key, "kind": "found", "sizes": {"n": 8}, "run_time": {"n": multiple}, "threads": 1}
    return {**found, "stages": pack([plain_nest(s) for s in program.stages]), **more}


def test_the_narrowest_class_of_shapes_that_holds_the_sizes(folder: Path) -> None:
    for multiple in (1, 4):
        store.add(folder, class_record(multiple))
    for n, multiple in ((3, 1), (70_001, 1), (12, 4)):
        found = known_class(doubled, {"n": n}, 1)
        assert found is not None and (found.kind, found.multiples) == ("found", {"n": multiple})
        X, Y = np.arange(n, dtype=np.float32), np.empty(n, np.float32)
        found.runner({"n": n}).run([X, Y], [])
        np.testing.assert_array_equal(Y, X + X)
    assert known_class(doubled, {"n": 3}, 2) is None and known_runner(doubled, {"n": 3}, 1) is None
    assert sorted(line["run_time"]["n"] for line in asked("list")[1]) == [1, 4]
    store.add(folder, class_record(4, kind="plain", stages=[]))
    kinds = [found.kind for n in (3, 12) if (found := known_class(doubled, {"n": n}, 1)) is not None]
    assert kinds == ["found", "plain"]


@pytest.mark.parametrize(
    "change",
    [
        {"run_time": {"n": 1}}, {"run_time": {"n": True}}, {"run_time": {"n": 0}}, {"run_time": {"x": 2}}, {"run_time": [2]},
        {"sizes": {}}, {"sizes": {"n": "8"}}, {"key": "0" * 64},
        *({"stage": more} for more in (
            {"run_time": {"k": 8}}, {"run_time": {"n": -1}}, {"run_time": 3}, {"shares": None}, {"shares": []}, {"shares": [-1]},
            {"shares": [1, ["k", 1]]}, {"shares": [1, ["n", 0]]}, {"shares": [1, "n"]}, {"second_shares": [True]},
            {"common_shares": None},
        )),
    ],
    ids=str,
)  # fmt: skip
def test_classes_that_do_not_fit_are_passed_over(folder: Path, change: dict[str, Any]) -> None:
    whole = class_record(2)
    store.add(folder, whole)
    assert known_class(doubled, {"n": 4}, 1) is not None and known_class(doubled, {"n": 3}, 1) is None
    (stage,) = whole["stages"]
    changed = {"stages": [stage | change["stage"]]} if "stage" in change else change
    (path,) = folder.iterdir()
    path.write_text(store.file_text({"made_by": store.made_by(), **whole, **changed}))
    assert known_class(doubled, {"n": 4}, 1) is None
