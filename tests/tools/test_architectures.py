"""Every command that takes an architecture takes every row of the table, without any other edit."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import warploom as wl
from warploom.core import UserError
from warploom.machines import ARCHITECTURES, OTHERS
from warploom.ptx.shuffle import Profitable
from warploom.scan import tuning
from warploom.tools import ptxas
from warploom.tools.cli import cli
from warploom.tools.command.entry import Commands

SUM = """
def total(xs: "list[int]") -> int:
    s = 0
    for x in xs:
        s = s + x
    return s
"""
LOADS = """
.version 8.7
.target sm_90
.address_size 64
.visible .entry twice(.param .u64 a, .param .u64 b)
{
	.reg .f32 %f<4>;
	.reg .b64 %rd<3>;
	ld.param.u64 %rd1, [a];
	ld.param.u64 %rd2, [b];
	ld.global.f32 %f1, [%rd1];
	ld.global.f32 %f2, [%rd1];
	add.f32 %f3, %f1, %f2;
	st.global.f32 [%rd2], %f3;
	ret;
}
"""

GIVEN = ("--arg",)
TWICE = ("loads.ptx", "loads.ptx")
COMMANDS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "ptx shuffle": (("ptx", "shuffle", "loads.ptx", "-o", "out.ptx", "--json", "--arch"), tuple(ARCHITECTURES)),
    "scan tune": (("scan", "tune", "sum.py:total", "--n", "32", "--top", "1", "--json", "--arch"), ("sm_103",)),
    "layout": (("layout", "32x32:f32", "--access", "rows", "--json", "--arch"), (*ARCHITECTURES, *OTHERS)),
    "check-layout": (("check-layout", "c ^ r", "--tile", "32x32:f32", "--access", "columns", "--json", "--arch"), ("sm_103",)),
    "exchange": (("exchange", "--from", "striped", "--to", "blocked", "--regs", "2", "--json", "--arch"), tuple(ARCHITECTURES)),
    "lint": (
        ("lint", "loads.ptx", "--launch", "1", "1", *GIVEN, "zeros:f32:1", *GIVEN, "zeros:f32:1", "--json", "--arch"),
        ("sm_103",),
    ),
    "same": (("same", *TWICE, "--launch", "1", "1", *GIVEN, "f32[1]", *GIVEN, "f32[1]", "--json", "--arch"), ("sm_103",)),
    "synth": (("synth", "aos-sum-crc-2", "--best", "--json", "--arch"), ("sm_103",)),
    "explore": (("explore", "axpy", "--size", "n=4096", "--choices", "--json", "--target"), ("sm_103",)),
}
"""By command: its arguments before the name of the architecture, and architectures that it must take. (That each row
is a target and has a board: tests/machines/test_gpu.py.)"""


def commands(group: Commands, path: str = "") -> Iterator[tuple[str, click.Command]]:
    for name in group.list_commands(click.Context(group)):
        command = group.get_command(click.Context(group), name)
        if isinstance(command, Commands):
            yield from commands(command, f"{path}{name} ")
        elif command is not None:
            yield path + name, command


def takes_an_architecture(option: click.Parameter) -> bool:
    """`scan emit --target` is a language: one of a few words."""
    return bool({"--arch", "--target"} & set(option.opts)) and not isinstance(option.type, click.Choice)


def test_no_command_is_forgotten() -> None:
    assert {name for name, command in commands(cli) if any(map(takes_an_architecture, command.params))} == set(COMMANDS)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, object]]:
    (tmp_path / "sum.py").write_text(SUM)
    (tmp_path / "loads.ptx").write_text(LOADS)
    monkeypatch.chdir(tmp_path)
    # Registers and times need the compiler, which other tests run; ranks and shares of the warps need only the table.
    monkeypatch.setattr(tuning.ranking, "toolchain_available", lambda: False)
    monkeypatch.setattr("warploom.tools.ptx.shuffle.toolchain_available", lambda: False)

    def ran(*arguments: str) -> dict[str, object]:
        result = CliRunner().invoke(cli, list(arguments))
        lines = [json.loads(line) for line in result.output.splitlines() if line.startswith("{")]
        assert result.exit_code == 0, result.output
        return lines[-1]

    return ran


@pytest.mark.parametrize("command", COMMANDS)
def test_it_takes_every_row(command: str, run: Callable[..., dict[str, object]]) -> None:
    arguments, names = COMMANDS[command]
    assert "sm_103" in names
    for name in names:
        line = run(*arguments, name)
        assert line["status"] == "solved"
        assert line.get("arch", name) == name


def test_a_sketch_is_explored_for_a_new_architecture(run: Callable[..., dict[str, object]]) -> None:
    assert run("explore", "conv2d-3", "--target", "sm_103", "--choices", "--json")["status"] == "solved"


def test_one_that_is_not_in_the_table_is_named(run: Callable[..., dict[str, object]]) -> None:
    for arguments in (COMMANDS["scan tune"][0], COMMANDS["explore"][0]):
        result = CliRunner().invoke(cli, [*arguments, "sm_99"])
        assert result.exit_code == 2 and "sm_103" in result.output and "sm_99" in result.output


def test_the_stand_in_for_ptxas_takes_it() -> None:
    arguments = ["-arch", "sm_103", "in.ptx"]
    policy = ptxas.options_from({}, ptxas._arch(arguments)).policy
    assert isinstance(policy, Profitable) and policy._arch == "sm_103"


def test_the_library_takes_it(run: Callable[..., dict[str, object]]) -> None:
    assert wl.shuffle_ptx("loads.ptx", arch="sm_103")
    with pytest.raises(UserError, match="OPTION"):
        wl.shuffle_ptx("loads.ptx", arch="103")
