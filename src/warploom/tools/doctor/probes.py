"""A look at each part of an installation. No probe raises for a part that is missing or damaged."""

from __future__ import annotations

import ctypes
import importlib.metadata
import importlib.util
import json
import os
import platform
import re
import shlex
import sys
import tempfile
from pathlib import Path
from urllib.parse import unquote

from warploom.core import UserError, find_program, find_tool
from warploom.core.compiler import build_library, find_compiler
from warploom.core.private import default_cache_path, is_private
from warploom.tools.doctor.found import Found

LEAST_PYTHON = (3, 11)
PROC, PCI = Path("/proc"), Path("/sys/bus/pci/devices")
CONTAINER_MARKS = (Path("/.dockerenv"), Path("/run/.containerenv"))
_NVIDIA, _DISPLAY = "0x10de", "0x03"
_OTHER_CACHE = "export WARPLOOM_CACHE=FOLDER"
_ADDS = "int warploom_doctor(int a, int b) { return a + b; }\n"
_KERNEL = '#include <cuda_fp16.h>\nextern "C" __global__ void k(__half* a) { a[threadIdx.x] = __float2half(1.0f); }\n'


def install(extra: str = "") -> str:
    """The command that installs with the Python that runs this, whatever `pip` is on the path, and from the folder that it was
    installed from, if any."""
    source, editable = "warploom", ""
    try:
        told = json.loads(importlib.metadata.distribution("warploom").read_text("direct_url.json") or "{}")
        if str(told["url"]).startswith("file://"):
            source = unquote(str(told["url"]).removeprefix("file://"))
            editable = "--editable " if told.get("dir_info", {}).get("editable") else ""
    except (importlib.metadata.PackageNotFoundError, ValueError, KeyError, AttributeError):
        pass
    what = shlex.quote(source + (f"[{extra}]" if extra else ""))
    return f"{shlex.quote(sys.executable)} -m pip install {editable}{what}"


def python() -> Found:
    text = f"{platform.python_implementation()} {platform.python_version()}, {sys.executable}"
    wanted = ".".join(map(str, LEAST_PYTHON))
    if sys.version_info[:2] < LEAST_PYTHON:
        return Found(False, f"{text}: expected {wanted} or newer", f"make PYTHON=python{wanted} demo")
    return Found(True, text)


def packages() -> Found:
    """The packages without which nothing works, as the installed metadata describes them."""
    try:
        wanted = [text for text in importlib.metadata.requires("warploom") or [] if "extra ==" not in text]
    except importlib.metadata.PackageNotFoundError:
        return Found(False, "warploom itself is not installed, only its folder is on the path", install())
    found: list[str] = []
    wrong: list[str] = []
    for text in wanted:
        name, limits = requirement(text)
        try:
            version = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            wrong.append(f"{name} is missing")
            continue
        found.append(f"{name} {version}")
        if not all(keeps(version, sign, limit) for sign, limit in limits):
            wrong.append(f"{name} is {version}, expected {','.join(sign + limit for sign, limit in limits)}")
    if wrong:
        return Found(False, "; ".join(wrong), install())
    return Found(True, ", ".join(found))


def requirement(text: str) -> tuple[str, list[tuple[str, str]]]:
    """`numpy<3,>=2.0; marker` as the name and its limits."""
    name = re.match(r"[\w.-]+", text)
    return (name[0] if name else text), re.findall(r"([<>=!~]=?)\s*([\w.]+)", text.partition(";")[0])


def keeps(version: str, sign: str, limit: str) -> bool:
    """Whether a version keeps `>=` or `<` of a limit; other limits are not looked at."""
    have, least = ([int(n) for n in re.findall(r"\d+", text)][:4] for text in (version, limit))
    width = max(len(have), len(least))
    have, least = have + [0] * (width - len(have)), least + [0] * (width - len(least))
    return have >= least if sign == ">=" else have < least if sign == "<" else True


def cuda() -> Found:
    """NVRTC, ptxas and the disassembler, each by using it."""
    from warploom.gpu import assemble, compile_to_ptx, machine_counts

    fix = install("cuda")
    try:
        ptx = compile_to_ptx(_KERNEL, "sm_90")
        cubin, _ = assemble(ptx, "sm_90", limit_s=60)
        machine_counts(cubin)
    except (UserError, RuntimeError, OSError) as error:
        return Found(False, _first_line(error), fix)
    places = " ".join(sorted({str(Path(find_tool(name)).parent) for name in ("ptxas", "nvdisasm")}))
    nvcc = "" if find_program("gcc") and _has_tool("nvcc") else "; no nvcc with gcc: files with host code are not compiled"
    return Found(True, f"NVRTC, ptxas and nvdisasm of {places}{nvcc}")


def gpu() -> Found:
    """The driver and its devices; which part is missing, and whether this machine has a GPU at all."""
    from warploom.gpu import device_names, why_no_device
    from warploom.machines import ARCHITECTURES

    missing = why_no_device()
    if missing is None:
        names = device_names()
        unknown = [name for name in names if not any(f"({row})" in name for row in ARCHITECTURES)]
        return Found(True, ", ".join(names) + (f"; no figures for {', '.join(unknown)}" if unknown else ""))
    if missing.lacks == "package":
        return Found(False, missing.text, install("cuda"))
    if (PROC / "driver/nvidia/version").exists() or has_nvidia_card():
        if any(mark.exists() for mark in CONTAINER_MARKS):
            return Found(False, f"{missing.text}; this is a container on a machine that has one", "docker run --gpus all ...")
        return Found(False, f"{missing.text}; this machine has an NVIDIA card", "sudo apt-get install nvidia-driver-580")
    return Found(False, f"no NVIDIA card in this machine ({missing.text})")


def has_nvidia_card() -> bool:
    """By what the system says of its PCI bus."""
    for device in PCI.glob("*"):
        try:
            vendor, kind = ((device / name).read_text(encoding="ascii").strip() for name in ("vendor", "class"))
        except (OSError, UnicodeDecodeError):
            continue
        if vendor == _NVIDIA and kind.startswith(_DISPLAY):
            return True
    return False


def c_compiler() -> Found:
    """By building a library and calling it."""
    compiler = find_compiler()
    if compiler is None:
        return Found(False, "CC names none that runs, and there is no cc, gcc or clang", install("cpu"))
    what = f"{compiler.version} ({' '.join(compiler.command)})"
    with tempfile.TemporaryDirectory() as folder:
        try:
            library = ctypes.CDLL(str(build_library(_ADDS, folder=Path(folder), compiler=compiler)))
            is_right = library.warploom_doctor(20, 22) == 42
        except (UserError, OSError, AttributeError) as error:
            return Found(False, f"{what}: {_first_line(error)}", install("cpu"))
    return Found(is_right, what if is_right else f"{what}: 20 + 22 is not 42", "" if is_right else install("cpu"))


def cache() -> Found:
    """The folder of the user's caches: there or makeable, and nobody else's."""
    path = default_cache_path()
    if path is None:
        is_off = os.environ.get("WARPLOOM_CACHE") == "off"
        why = "WARPLOOM_CACHE is off" if is_off else "this user has no home folder"
        return Found(False, why, "unset WARPLOOM_CACHE" if is_off else _OTHER_CACHE)
    folder = path.parent
    if os.path.lexists(folder) and not folder.is_dir():
        return Found(False, f"{folder} is no folder", _OTHER_CACHE)
    is_there = folder.is_dir()
    place = folder if is_there else next(above for above in folder.parents if above.exists())
    try:
        tempfile.TemporaryDirectory(dir=place, prefix=".warploom-").cleanup()
    except OSError as error:
        return Found(False, f"nothing can be made in {place}: {error.strerror}", _OTHER_CACHE)
    if not is_there:
        return Found(True, f"{folder}, made when it is needed")
    if not is_private(folder):
        fix = f"chmod go-w {shlex.quote(str(folder))}"
        return Found(False, f"others may write to {folder}, or to a folder above it: it is not used", fix)
    return Found(True, f"{folder}, {_megabytes(folder)}")


def kernels() -> Found:
    """The store of kernels that `tune` found."""
    from warploom.tools.kernels.store import files, is_current, store_folder

    folder = store_folder()
    if folder is None:
        return Found(True, "none kept")
    kept = files(folder)
    good = [k for k in kept if k.record is not None and not k.reason and is_current(k.record)]
    if len(good) < len(kept):
        return Found(
            False, f"{len(kept) - len(good)} of {len(kept)} kernels in {folder} do not count here", "warploom kernels prune"
        )
    return Found(True, f"{len(kept)} in {folder}" if kept else "none kept")


def cluster() -> Found:
    if importlib.util.find_spec("distributed") is None:
        return Found(False, "Dask is not installed", install("cluster"))
    return Found(True, f"Dask {importlib.metadata.version('distributed')}")


def sat() -> Found:
    if importlib.util.find_spec("pysat") is None:
        return Found(False, "python-sat is not installed", install("sat"))
    return Found(True, f"python-sat {importlib.metadata.version('python-sat')}")


def _megabytes(folder: Path) -> str:
    total = 0
    for above, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(above, name)).st_size
            except OSError:
                continue
    return f"{total / 1e6:.1f} MB"


def _has_tool(name: str) -> bool:
    try:
        return find_tool(name).is_file()
    except UserError:
        return False


def _first_line(error: Exception) -> str:
    if isinstance(error, UserError):
        return error.diagnostics[0].message.splitlines()[0]
    return (str(error).splitlines() or [type(error).__name__])[0]
