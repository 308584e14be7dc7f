"""PTX inside of binaries, put together by the toolkit's own `fatbinary`."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.tools.contract import lines_of

from warploom.core import Diagnostic, UserError, find_tool
from warploom.gpu import embedded_ptx, is_binary
from warploom.tools.cli import cli
from warploom.tools.ptx.check import read_ptx

TEXT = """.version 8.0
.target {arch}
.address_size 64
.visible .entry {name}(.param .u64 out)
{{
.reg .b64 %rd<2>;
ld.param.u64 %rd1, [out];
st.global.u32 [%rd1], {value};
ret;
}}
"""


def has_fatbinary() -> bool:
    try:
        return bool(find_tool("fatbinary")) and bool(find_tool("cuobjdump"))
    except UserError:
        return False


pytestmark = pytest.mark.skipif(not has_fatbinary(), reason="needs fatbinary and cuobjdump of the extra cuda")


def fatbin(folder: Path, *parts: tuple[str, str, int], compressed: bool = True) -> Path:
    """A fat binary of kernels (architecture, name, value they store)."""
    images: list[str] = []
    for n, (arch, name, value) in enumerate(parts):
        (folder / f"{n}.ptx").write_text(TEXT.format(arch=arch, name=name, value=value))
        images.append(f"--image3=kind=ptx,sm={arch[3:]},file={folder}/{n}.ptx")
    made = folder / "made.fatbin"
    command = [str(find_tool("fatbinary")), "-64", f"--create={made}", f"--compress={str(compressed).lower()}", *images]
    subprocess.run(command, check=True, capture_output=True)
    return made


@pytest.mark.parametrize("compressed", [True, False])
def test_the_newest_architecture_is_read(tmp_path: Path, compressed: bool) -> None:
    made = fatbin(tmp_path, ("sm_80", "k", 1), ("sm_100", "k", 2), ("sm_90", "k", 3), compressed=compressed)
    assert is_binary(made.read_bytes()[:8]) and not is_binary(TEXT.encode())
    found = embedded_ptx(str(made))
    assert sorted(one.architecture for one in found) == [80, 90, 100] and {one.kernels for one in found} == {("k",)}
    assert read_ptx(str(made)).strip() == TEXT.format(arch="sm_100", name="k", value=2).strip()


def test_lint_and_run_take_a_binary(tmp_path: Path) -> None:
    made = fatbin(tmp_path, ("sm_90", "k", 7))
    result = CliRunner().invoke(cli, ["lint", str(made), "--launch", "2", "1", "--arg", "zeros:i32:1", "--json"])
    assert result.exit_code == 1 and lines_of(result.stdout)[0]["rule"] == "data-race"
    assert CliRunner().invoke(cli, ["ptx", "check", str(made)]).exit_code == 0


def test_what_holds_no_ptx_or_no_whole_file_is_refused(tmp_path: Path) -> None:
    made = fatbin(tmp_path, ("sm_90", "k", 7))
    cut = tmp_path / "cut.fatbin"
    cut.write_bytes(made.read_bytes()[:90])
    empty = tmp_path / "-elf"
    empty.write_bytes(b"\x7fELF" + bytes(100))
    for file in (cut, empty):
        with pytest.raises(UserError) as raised:
            read_ptx(str(file))
        assert raised.value.diagnostics[0].code == "NO_PTX"


def test_of_several_files_the_one_with_the_kernel_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = (fatbin(tmp_path, ("sm_90", name, 1)).read_bytes() for name in ("first", "second"))
    library = tmp_path / "both.bin"
    library.write_bytes(first)
    one, other = embedded_ptx(str(library)), None
    library.write_bytes(second)
    other = embedded_ptx(str(library))
    monkeypatch.setattr("warploom.tools.ptx.check.embedded_ptx", lambda _: (*one, *other))
    assert ".entry second(" in read_ptx(str(library), lambda name: name == "second")
    with pytest.raises(UserError) as raised:
        read_ptx(str(library))
    assert raised.value.diagnostics[0].code == "SEVERAL_PTX" and "first; " in raised.value.diagnostics[0].message


def test_without_cuobjdump_the_message_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Path:
        raise UserError(Diagnostic("TOOL_MISSING", f"expected the CUDA tool {name}"))

    made = fatbin(tmp_path, ("sm_90", "k", 7))
    monkeypatch.setattr("warploom.gpu.embedded.find_tool", missing)
    with pytest.raises(UserError) as raised:
        read_ptx(str(made))
    assert raised.value.diagnostics[0].code == "TOOL_MISSING"
