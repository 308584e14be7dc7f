"""`warploom-ptxas`: takes ptxas's place, puts shuffles where they pay, then runs the real ptxas with the same arguments.

    warploom-ptxas --install DIR       # DIR/nvcc, DIR/ptxas, ...: put DIR first on PATH
    clang++ --ptxas-path=DIR/ptxas ...
    TRITON_PTXAS_PATH=DIR/ptxas python ...

Settings come from the environment, since the arguments are ptxas's: WARPLOOM_POLICY (all, profitable, none), WARPLOOM_MAX_DELTA,
WARPLOOM_REPORT (a file that gets one JSON line per kernel), WARPLOOM_KEEP (a folder for the rewritten PTX), WARPLOOM_PTXAS (the
real ptxas). Whatever goes wrong, the original file goes through untouched, with one line of warning.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from warploom.core import Diagnostic, UserError
from warploom.gpu import find_tool
from warploom.ptx.shuffle import MAX_DELTA, Rewritten, ShuffleOptions, shuffle
from warploom.ptx.syntax import parse
from warploom.tools.lines import INTERRUPTED, encode
from warploom.tools.messages import rendered
from warploom.tools.ptx_shuffle import policy_of

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
    """Of the rewrite; UserError (WRONG_SETTING) names the variable."""
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
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        path = Path(folder or ".") / "ptxas"
        if os.access(path, os.X_OK) and path.is_file() and not _is_ours(path):
            return path
    path = find_tool("ptxas")
    if _is_ours(path):
        raise UserError(
            Diagnostic("TOOL_MISSING", "expected a ptxas besides this program's, found none", fix="Set WARPLOOM_PTXAS.")
        )
    return path


def _is_ours(path: Path) -> bool:
    if path.resolve().name.startswith("warploom-ptxas"):
        return True
    try:
        with path.open("rb") as file:
            return _MARK.encode() in file.read(512)
    except OSError:
        return False


def _install(arguments: Sequence[str]) -> int:
    """Makes DIR: links to the CUDA tools beside an nvcc, its profile with the real folders, and this program as ptxas."""
    if len(arguments) != 1:
        raise UserError(Diagnostic("USAGE", f"expected one folder after --install, got {len(arguments)} words"))
    target = Path(arguments[0]).absolute()
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = f"expected a folder to install to at {target}, got: {error.strerror}"
        raise UserError(Diagnostic("NOT_WRITTEN", message, fix="Name a folder that can be made.")) from error
    nvcc = _real_nvcc(target)
    if nvcc is not None:
        real = nvcc.parent
        for path in real.iterdir():
            link = target / path.name
            if path.name in ("ptxas", "nvcc.profile") or link.exists():
                continue
            link.symlink_to(path)
        profile = real / "nvcc.profile"
        if profile.is_file():
            lines = profile.read_text().splitlines()
            moved = [f"TOP = {real.parent}" if line.split("=")[0].strip() == "TOP" else line for line in lines]
            (target / "nvcc.profile").write_text("\n".join(moved) + "\n")
    ptxas = target / "ptxas"
    real_one = nvcc.parent / "ptxas" if nvcc is not None and (nvcc.parent / "ptxas").is_file() else real_ptxas()
    if ptxas.is_symlink():
        ptxas.unlink()
    ptxas.write_text(
        f"#!/bin/sh\n# {_MARK}\n"
        f': "${{WARPLOOM_PTXAS:={real_one}}}"\nexport WARPLOOM_PTXAS\n'
        f'exec "{sys.executable}" -P -c "from warploom.tools.ptxas import main; main()" "$@"\n'
    )
    ptxas.chmod(0o755)
    print(f"{target}: ptxas{' and links to ' + str(nvcc.parent) if nvcc is not None else ''}; put it first on PATH")
    return 0


def _real_nvcc(target: Path) -> Path | None:
    """The nvcc on PATH (through wrappers: `nvcc --dryrun` says where it stands), else that of the wheel; None without one."""
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        path = Path(folder or ".") / "nvcc"
        if path.absolute().parent == target or not os.access(path, os.X_OK):
            continue
        done = subprocess.run([str(path), "--dryrun", "-E", "-x", "cu", os.devnull], capture_output=True, text=True, check=False)
        for line in done.stderr.splitlines():
            if line.startswith("#$ _HERE_="):
                here = Path(line.partition("=")[2].strip()).absolute()
                if (here / "nvcc").is_file():
                    return here / "nvcc"
    try:
        beside = find_tool("ptxas").with_name("nvcc")
    except UserError:
        return None
    return beside if beside.is_file() and shutil.which(str(beside)) else None


if __name__ == "__main__":
    main()
