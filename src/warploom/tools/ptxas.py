"""`warploom-ptxas`: takes ptxas's place, puts shuffles where they pay, then runs the real ptxas with the same arguments.

    warploom-ptxas --install DIR       # DIR/nvcc, DIR/ptxas, ...: put DIR first on PATH
    clang++ --ptxas-path=DIR/ptxas ...
    TRITON_PTXAS_PATH=DIR/ptxas TRITON_PTXAS_BLACKWELL_PATH=DIR/ptxas python ...    # the second from sm_90 on

Settings come from the environment, since the arguments are ptxas's: WARPLOOM_POLICY (all, profitable, none), WARPLOOM_MAX_DELTA,
WARPLOOM_REPORT (a file that gets one JSON line per kernel), WARPLOOM_KEEP (a folder for the rewritten PTX), WARPLOOM_PTXAS (the
real ptxas). Whatever goes wrong, the original file goes through untouched, with one line of warning.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from warploom.core import Diagnostic, Span, UserError, find_tool, program_folders
from warploom.core.starting import ROOT
from warploom.tools.command.files import make_folder, not_written, require_place, write_text
from warploom.tools.command.lines import INTERRUPTED, encode
from warploom.tools.command.messages import rendered

if TYPE_CHECKING:
    from warploom.ptx.shuffle import Rewritten, ShuffleOptions

_MARK = "warploom-ptxas: written by --install"


def main() -> None:
    """Runs and exits with ptxas's code."""
    arguments = sys.argv[1:]
    try:
        if arguments[:1] == ["--install"]:
            sys.exit(_install(arguments[1:]))
        sys.exit(run(arguments))
    except UserError as error:
        print("\n".join(rendered(error.diagnostics)), file=sys.stderr)
        sys.exit(2)
    except OSError as error:
        print(f"warploom-ptxas: error: expected a ptxas that can be run, got: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


def run(arguments: Sequence[str]) -> int:
    """Exit code of the real ptxas on the rewritten files, or on the original ones where those are refused."""
    real = str(real_ptxas())
    with tempfile.TemporaryDirectory(prefix="warploom-") as folder:
        changed = list(arguments)
        for place in _inputs(arguments):
            path = Path(arguments[place])
            new = _rewritten_file(path, Path(folder) / f"{place}-{path.name}", _arch(arguments))
            if new is not None:
                changed[place] = str(new)
        if changed == list(arguments):
            return subprocess.run([real, *arguments], check=False).returncode
        done = subprocess.run([real, *changed], capture_output=True, check=False)
        if done.returncode == 0:
            sys.stdout.buffer.write(done.stdout)
            sys.stderr.buffer.write(done.stderr)
            return 0
    # The fault may be the user's (a wrong option): ptxas says it itself, of the original file.
    code = subprocess.run([real, *arguments], check=False).returncode
    if code == 0:
        last = done.stderr.decode(errors="replace").strip().splitlines() or ["no message"]
        _warn(f"ptxas refused the rewritten file, the original was used: {last[0]}")
    return code


def _inputs(arguments: Sequence[str]) -> list[int]:
    """Places of PTX files among ptxas's arguments: what is no option and no option's value."""
    found: list[int] = []
    for place, argument in enumerate(arguments):
        is_value = place > 0 and arguments[place - 1] in ("-o", "--output-file")
        if not argument.startswith("-") and not is_value and Path(argument).is_file():
            found.append(place)
    return found


def _arch(arguments: Sequence[str]) -> str | None:
    for place, argument in enumerate(arguments):
        name, _, value = argument.partition("=")
        if name in ("-arch", "--gpu-name"):
            value = value or (arguments[place + 1] if place + 1 < len(arguments) else "")
            return value or None
    return None


def _rewritten_file(path: Path, target: Path, arch: str | None) -> Path | None:
    """The rewritten file, or None when nothing was gained."""
    try:
        raw = path.read_bytes()
        if b".version" not in raw:
            return None
        # Here, because nvcc starts this program for files without PTX, too.
        from warploom.ptx.shuffle import shuffle
        from warploom.ptx.syntax import parse

        text = raw.decode("utf-8", errors="surrogateescape")
        found = shuffle(parse(text, str(path)), options_from(os.environ, arch))
        _report(path, found)
        if found.text == text:
            return None
        new = found.text.encode("utf-8", errors="surrogateescape")
        target.write_bytes(new)
        keep = os.environ.get("WARPLOOM_KEEP")
        if keep:
            Path(keep).mkdir(parents=True, exist_ok=True)
            (Path(keep) / path.name).write_bytes(new)
    except Exception as error:
        first = (str(error).splitlines() or [type(error).__name__])[0]
        _warn(f"{path} goes through unchanged: {first}")
        return None
    return target


def options_from(environment: Mapping[str, str], arch: str | None) -> ShuffleOptions:
    """Options of the rewrite; UserError (WRONG_SETTING) names the variable."""
    from warploom.ptx.shuffle import MAX_DELTA, ShuffleOptions
    from warploom.tools.ptx.shuffle import policy_of

    policy = environment.get("WARPLOOM_POLICY", "profitable")
    if policy not in ("all", "profitable", "none"):
        message = f"expected WARPLOOM_POLICY to be all, profitable or none, got {policy!r}"
        raise UserError(Diagnostic("WRONG_SETTING", message))
    delta = environment.get("WARPLOOM_MAX_DELTA", str(MAX_DELTA))
    if not delta.isdigit() or int(delta) > MAX_DELTA:
        raise UserError(Diagnostic("WRONG_SETTING", f"expected WARPLOOM_MAX_DELTA from 0 to {MAX_DELTA}, got {delta!r}"))
    return ShuffleOptions(policy=policy_of(policy, arch), max_delta=int(delta))


def _report(path: Path, found: Rewritten) -> None:
    report = os.environ.get("WARPLOOM_REPORT")
    if report:
        with Path(report).open("a", encoding="utf-8") as lines:
            lines.writelines(encode({"file": str(path), **kernel.json()}) + "\n" for kernel in found.reports)


def _warn(message: str) -> None:
    print(f"warploom-ptxas: warning: {message}", file=sys.stderr)


def real_ptxas() -> Path:
    """WARPLOOM_PTXAS, else the first ptxas on PATH that is not this program, else that of the installed wheel."""
    named = os.environ.get("WARPLOOM_PTXAS")
    if named:
        if os.access(named, os.X_OK) and not _is_ours(Path(named)):
            return Path(named)
        message = f"expected WARPLOOM_PTXAS to name the real ptxas, got {named!r}"
        raise UserError(Diagnostic("TOOL_MISSING", message, fix="Give the path of an executable ptxas."))
    for folder in program_folders():
        path = Path(folder) / "ptxas"
        if os.access(path, os.X_OK) and path.is_file() and not _is_ours(path):
            return path
    path = find_tool("ptxas")
    if _is_ours(path):
        raise UserError(
            Diagnostic("TOOL_MISSING", "expected a ptxas besides this program's, found none", fix="Set WARPLOOM_PTXAS.")
        )
    return path


def _is_ours(path: Path) -> bool:
    return path.resolve().name.startswith("warploom-ptxas") or _is_written_here(path)


def _is_written_here(path: Path) -> bool:
    """Whether `--install` wrote the file, or what a link leads to."""
    try:
        with path.open("rb") as file:
            return _MARK.encode() in file.read(512)
    except OSError:
        return False


def _install(arguments: Sequence[str]) -> int:
    """Makes DIR: links to the CUDA tools beside an nvcc, its profile with the real folders, and this program as ptxas.

    UserError (NOT_WRITTEN), before anything is changed, where DIR has a ptxas or an nvcc.profile that no earlier call wrote.
    """
    if len(arguments) != 1:
        raise UserError(Diagnostic("USAGE", f"expected one folder after --install, got {len(arguments)} words"))
    target = Path(arguments[0]).absolute()
    require_place(target, is_folder=True)
    ptxas, profile = target / "ptxas", target / "nvcc.profile"
    is_again = _is_written_here(ptxas)
    for path in (ptxas, profile):
        if os.path.lexists(path) and not (is_again and not path.is_symlink()):
            message = f"expected no {path.name} in {target} but one of an earlier --install, got another program's"
            fix = "Name another folder: this one's would be lost."
            raise UserError(Diagnostic("NOT_WRITTEN", message, Span(str(path), 1, 1, 1, 1), fix))
    nvcc = _real_nvcc(target)
    real_one = nvcc.parent / "ptxas" if nvcc is not None and (nvcc.parent / "ptxas").is_file() else real_ptxas()
    moved = None if nvcc is None else _profile(nvcc.parent)
    make_folder(target)
    if nvcc is not None:
        _link_all(nvcc.parent, target)
    if moved is not None:
        write_text(profile, moved)
    write_text(ptxas, _script(real_one), mode=0o755)
    print(f"{target}: ptxas{' and links to ' + str(nvcc.parent) if nvcc is not None else ''}; put it first on PATH")
    return 0


def _link_all(real: Path, target: Path) -> None:
    """Links to all files of `real` that `target` has none of, but for those that `--install` writes itself."""
    for path in real.iterdir():
        link = target / path.name
        if path.name in ("ptxas", "nvcc.profile") or os.path.lexists(link):
            continue
        try:
            link.symlink_to(path)
        except OSError as error:
            raise not_written(link, error.strerror or str(error)) from error


def _script(real: Path) -> str:
    """A shell reads it: no text of a path may be anything but that path."""
    quoted = shlex.quote(str(real))
    code = f"import sys; sys.path.append({ROOT!a}); from warploom.tools.ptxas import main; main()"
    return (
        f"#!/bin/sh\n# {_MARK}\n"
        f'if [ -z "${{WARPLOOM_PTXAS:-}}" ]; then WARPLOOM_PTXAS={quoted}; fi\nexport WARPLOOM_PTXAS\n'
        f'exec {shlex.quote(sys.executable)} -P -c {shlex.quote(code)} "$@"\n'
    )


def _profile(real: Path) -> str | None:
    """The nvcc.profile beside the real nvcc, with the real folders; None where there is none."""
    path = real / "nvcc.profile"
    if not path.is_file():
        return None
    if re.search(r"[^\w\s/.+,@%:=-]|[\r\n]", str(real.parent)):  # nvcc gives what stands there to a shell
        message = f"expected a CUDA folder whose name needs no quotes, got {str(real.parent)!r}"
        raise UserError(Diagnostic("TOOL_MISSING", message, fix="Give clang or Triton the ptxas of a folder without nvcc."))
    lines = path.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    return "\n".join(f"TOP = {real.parent}" if x.split("=")[0].strip() == "TOP" else x for x in lines) + "\n"


def _real_nvcc(target: Path) -> Path | None:
    """The nvcc on PATH (through wrappers: `nvcc --dryrun` says where it stands), else that of the wheel; None without one."""
    for folder in program_folders():
        path = Path(folder) / "nvcc"
        if path.parent == target or not os.access(path, os.X_OK):
            continue
        command = [str(path), "--dryrun", "-E", "-x", "cu", os.devnull]
        done = subprocess.run(command, capture_output=True, text=True, errors="surrogateescape", check=False)
        for line in done.stderr.splitlines():
            if line.startswith("#$ _HERE_="):
                here = Path(line.partition("=")[2].strip()).absolute()
                if (here / "nvcc").is_file():
                    return here / "nvcc"
    try:
        beside = find_tool("ptxas").with_name("nvcc")
    except UserError:
        return None
    return beside if beside.is_file() and os.access(beside, os.X_OK) else None


if __name__ == "__main__":
    main()
