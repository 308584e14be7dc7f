"""The programs of benchmarks/gpu, as far as they can be tested without a GPU: their sources compile."""

from __future__ import annotations

import ctypes
import importlib.util
import json
import re
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from warploom import gpu
from warploom.core import Diagnostic, UserError
from warploom.gpu import compile_cuda, toolchain, toolchain_available

FOLDER = Path(__file__).parents[2] / "benchmarks" / "gpu"

pytestmark = pytest.mark.skipif(not toolchain_available(), reason="needs the extra `cuda`")


def program(name: str) -> ModuleType:
    sys.path[:0] = [] if str(FOLDER) in sys.path else [str(FOLDER)]  # as where they are programs
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_microbenchmark_compiles_without_local_memory(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    latencies = program("latencies")
    monkeypatch.setattr(sys, "argv", ["latencies.py", "--dry-run", "--json"])
    assert latencies.main() == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["case"] for line in lines] == [*latencies.CHAINS, *latencies.RATES]
    assert all(line["local_bytes"] == 0 for line in lines)


def test_the_stencils_have_all_their_cases() -> None:
    shuffles = program("shuffles")
    assert {case.partition("/")[0] for case, _, _ in shuffles.cases([])} == set(shuffles.SUITES)
    assert [case for case, _, _ in shuffles.cases(["kernelgen/jac*"])] == ["kernelgen/jacobi"]


def test_kernels_of_others_compute_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    peers = program("peers")
    monkeypatch.setattr(peers, "cub_options", tuple)
    for case, names in (("aos-store-crc-2", {"direct", "trove", "vector"}), ("aos-store-crc-3", {"direct", "trove"})):
        right = peers.dry_run(case)["right"]
        assert "not installed" in right.pop("cub")
        assert right == dict.fromkeys(names, True)
    assert peers.dry_run("aos-sum-crc-2")["right"] | {"cub": ""} == {"direct": True, "trove": True, "vector": True, "cub": ""}
    line = peers.dry_run("conv2d-3")
    assert line["right"] == {"iandola": True}
    assert line["libraries"].keys() == {"arrayfire", "npp"}


def test_a_wrong_kernel_of_others_is_noticed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    peers = program("peers")
    (right,) = peers.filter_peers(3)
    wrong = replace(right, source=right.source.replace("weight * in", "weight + in"))
    monkeypatch.setattr(peers, "peers_of", lambda _: [wrong])
    assert peers.main(["--dry-run", "conv2d-3"]) == 1
    assert "{'iandola': False}" in capsys.readouterr().out


def test_npp_gets_what_it_asks_of_the_device() -> None:
    peers = program("peers")
    names = ("MultiProcessorCount", "MaxThreadsPerMultiProcessor", "MaxThreadsPerBlock", "MaxSharedMemoryPerBlock")
    attributes = {name: 10 + n for n, name in enumerate((*names, "ComputeCapabilityMajor", "ComputeCapabilityMinor"))}
    found = peers.npp_context(attributes, 1)
    assert [getattr(found, name) for name, _ in found._fields_] == [None, 1, *range(10, 16), 0, 0]
    # As in C: a pointer, four ints, a size, two ints, an unsigned and an int.
    assert ctypes.sizeof(peers.NppContext) == 8 + 4 * 4 + 8 + 2 * 4 + 4 + 4
    assert peers._npp_files()[0] == "libnppif.so"


def test_scans_of_others_compute_the_same(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    scans = program("scans")

    def absent(_: object) -> object:
        raise scans.NotInstalledError("nvidia-cuda-cccl")

    monkeypatch.setattr(scans, "try_cub", absent)
    monkeypatch.setattr(scans, "device_available", lambda: False)
    assert [scans.main(given) for given in (["--what"], ["nothing"], [])] == [2, 2, 3]
    assert scans.main(["--dry-run", "total"]) == 0
    assert "nvidia-cuda-cccl is not installed" in capsys.readouterr().out
    monkeypatch.setattr(scans, "compare", lambda *_, **__: SimpleNamespace(cases=1, mismatch="1, not 2"))
    assert scans.main(["--dry-run", "total"]) == 1


def test_peers_refuse_bad_input(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    peers = program("peers")
    monkeypatch.setattr(peers, "device_available", lambda: False)
    assert [peers.main(given) for given in (["--what"], ["nothing"], [])] == [2, 2, 3]
    told = capsys.readouterr().err
    assert "got --what" in told and "got 'nothing'" in told and "--dry-run checks" in told


def test_everything_goes_on_where_it_stopped(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    everything = program("everything")
    assert everything.main([]) == 3 and capsys.readouterr().err.startswith("no GPU here")
    times = '{"median_ms": %s, "low_ms": %s, "high_ms": %s}'
    ours, torch, copy = times % (2.0, 1.5, 2.5), times % (3.0, 2.9, 3.6), times % (1.0, 1.0, 1.0)
    told = {
        "good": f'print(\'{{"case": "a", "kernel_ms": {ours}, "torch_ms": {torch}, "copy_ms": {copy}, "gflops": 1.0}}\')',
        "bad": "import pathlib, sys; p = pathlib.Path('DONE'); n = p.exists(); p.touch(); sys.exit(0 if n else 'no luck')",
        "last": 'print(\'{"case": "b", "same": true}\')',
    }
    made = [everything.Piece(n, (sys.executable, "-c", t.replace("DONE", str(tmp_path / "done")))) for n, t in told.items()]
    monkeypatch.setattr(gpu, "why_no_device", lambda: None)
    monkeypatch.setattr(gpu, "device_names", lambda: ("A board (sm_90)",))
    monkeypatch.setattr(everything, "pieces", lambda: made)
    out = tmp_path / "lines.jsonl"
    words = ["--out", str(out)]
    assert everything.main([*words, "--minutes", "0"]) == 3 and not everything.read(out)
    assert everything.main([*words, "--only", "[gb]*"]) == 1
    shown = capsys.readouterr()
    assert "wrong: bad: no luck" in shown.err and "1.50  1.16 to 2.40" in shown.out  # 3 ms of torch over 2 ms
    drawn = out.with_suffix(".svg").read_text()
    assert str(out.with_suffix(".svg")) in shown.err and ">1.50<" in drawn and ">a (torch_ms)<" in drawn
    assert everything.main(words) == 1
    assert [line["piece"] for line in everything.read(out)] == ["good", "bad", "last"]
    assert everything.main([*words, "--again"]) == 0
    assert [line["piece"] for line in everything.read(out)] == ["good", "bad", "last", "bad"]


def test_everything_says_what_it_lacks(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    everything = program("everything")
    assert everything.lacking(("json", "no_such_module", "no_such.package")) == ["no_such_module", "no_such.package"]
    monkeypatch.setattr(everything, "NEEDED", ("json", "no_such_module"))
    assert everything.main([]) == 3 and "lacks the modules no_such_module; `pip install" in capsys.readouterr().err
    monkeypatch.setattr(everything, "NEEDED", ())
    monkeypatch.setattr(gpu, "why_no_device", lambda: None)
    monkeypatch.setattr(gpu, "device_names", lambda: ("A board (sm_90)",))
    monkeypatch.setattr(gpu, "toolchain_available", lambda: False)
    monkeypatch.setattr(everything, "INPUTS", everything.ROOT / "build" / "nothing.zip")
    assert everything.main([]) == 3 and "no compilers (NVRTC, ptxas) are installed, and no build" in capsys.readouterr().err
    piece = everything.Piece
    show = (sys.executable, "-c", "import os; print('{\"case\": \"' + os.environ['WARPLOOM_PREBUILT'] + '\"}')")
    monkeypatch.setattr(everything, "pieces", lambda: [piece("a", show)])
    monkeypatch.setattr(everything, "ROOT", tmp_path)
    (made := tmp_path / "build" / "inputs.zip").parent.mkdir()
    made.touch()
    monkeypatch.setattr(everything, "INPUTS", made)
    assert everything.main(["--out", str(tmp_path / "lines.jsonl")]) == 0
    assert "no compilers: kernels are taken from build/inputs.zip" in capsys.readouterr().err
    assert [line["case"] for line in everything.read(tmp_path / "lines.jsonl")] == [str(made)]


def test_kernels_are_compiled_for_machines_without_compilers(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    inputs, latencies = program("inputs"), program("latencies")
    path = tmp_path / "build" / "inputs.zip"
    words = ["--arch", "sm_90", "--only", "latencies/arith", "--out", str(path)]
    assert inputs.main(words) == 0
    assert capsys.readouterr().out.startswith(f"{path}: 0.0 MB")
    source = latencies.chain_source(*latencies.CHAINS["arithmetic_cycles"])
    expected, length = compile_cuda(source), path.stat().st_size

    def missing(*_: object) -> bytes:
        raise UserError(Diagnostic("TOOL_MISSING", "no compiler"))

    monkeypatch.setattr(toolchain, "_compiled", missing)
    monkeypatch.setattr(toolchain, "_assembled", missing)
    with pytest.raises(UserError, match="no compiler"):
        compile_cuda(source)
    monkeypatch.setenv("WARPLOOM_PREBUILT", str(path))
    assert replace(compile_cuda(source, options=("-I/elsewhere",)), log=expected.log) == expected
    for other in ({"source": source + " "}, {"source": source, "arch": "sm_80"}, {"source": source, "options": ("-G",)}):
        with pytest.raises(UserError, match="no compiler"):
            compile_cuda(**other)
    monkeypatch.delenv("WARPLOOM_PREBUILT")
    assert inputs.main(words) == 0 and path.stat().st_size == length, "all of it is there already"
    with monkeypatch.context() as changed:
        changed.setattr(inputs, "state", lambda: "other code")
        assert inputs.main(words) == 0, "all kernels are in the file, so that none is compiled"
    assert path.stat().st_size > length, "the file says so"
    assert inputs.main([*words, "--check"]) == 0
    assert inputs.main([*words[:3], "latencies/sh", *words[4:]]) == 1
    assert "sm_90 latencies/shuffle_cycles: error[TOOL_MISSING]" in capsys.readouterr().out
    assert inputs.main([*words[:3], "latencies/sh", *words[4:], "--check"]) == 1
    assert "sm_90 latencies/shuffle_cycles: error[PREBUILT]: expected the ptx of a kernel for" in capsys.readouterr().out
    monkeypatch.setenv("WARPLOOM_PREBUILT", str(tmp_path / "other.zip"))
    for content in (None, b"PK no"):
        if content:
            (tmp_path / "other.zip").write_bytes(content)
        with pytest.raises(UserError, match=r"expected a file of compiled kernels, got .*other\.zip") as caught:
            compile_cuda(source)
        assert "make gpu-inputs" in (caught.value.diagnostics[0].fix or "")


def test_without_a_gpu_what_would_be_timed_is_compiled(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert program("schedule").main(["--dry-run", "--json", "matmul-256-256-32"]) == 0
    assert program("libraries").main(["--dry-run", "--json", "aos-store-crc-3"]) == 0
    monkeypatch.setattr(sys, "argv", ["shuffles.py", "--dry-run", "--json", "kernelgen/vecadd"])
    assert program("shuffles").main() == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert lines[0]["registers"][0] > 0 and lines[1]["registers"].keys() == {"kernel_ms", "paper_ms", "baseline_ms"}
    assert lines[2]["registers"].keys() == {"original", "all", "profitable"} and len(lines) == 3


def test_the_kernels_of_every_piece_are_compiled_elsewhere() -> None:
    everything, inputs = program("everything"), program("inputs")
    names = {name for name, _ in inputs.jobs()}
    whole = {name.partition("/")[0] for name in names} & {"tests", "calls", "latencies"}
    pieces = {re.sub("^(memcheck|racecheck)/", "correct/", piece.name) for piece in everything.pieces()}
    assert {name for name in pieces if name.partition("/")[0] not in whole} <= names
    assert {"tests", "calls", "latencies"} == whole


def test_kernels_are_compared_bit_by_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    correct = program("correct")
    assert correct.main(["--what"]) == correct.main(["nothing"]) == 2
    assert correct.compared("mult32-shared", dry=True)["same"] is None
    monkeypatch.setattr(correct, "device_arch", lambda: "sm_90")
    monkeypatch.setattr(correct, "run_kernel", lambda *_: None)  # outputs stay what they were
    assert correct.compared("mult32-shared", dry=False)["same"] is False
