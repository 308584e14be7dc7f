"""Arguments and launches as every command on a kernel takes them: `--arg [INDEX=]SPEC`, `--symbol NAME=SPEC`, `--launch`.

`numbers_of` reads them as numbers, for a run; `read_argument` of `warploom.tools.ptx.prove` reads the same texts as symbols.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any, TypeAlias, TypeVar, cast

import click
import numpy as np
from numpy.typing import NDArray

from warploom.core import Diagnostic, UserError
from warploom.ptx import SWIZZLES, Program, Routine, Surface, TensorMap, Texture
from warploom.ptx.simt import Argument

MAX_BYTES = 1 << 33
"""Most bytes of one array that the command makes."""

_TYPES: dict[str, np.dtype[Any]] = {
    **{f"f{bits}": np.dtype(f"f{bits // 8}") for bits in (16, 32, 64)},
    **{f"{letter}{bits}": np.dtype(f"i{bits // 8}") for letter in "is" for bits in (8, 16, 32, 64)},
    **{f"{letter}{bits}": np.dtype(f"u{bits // 8}") for letter in "ub" for bits in (8, 16, 32, 64)},
}  # fmt: skip
_FILLS = ("zeros", "ones", "arange", "random")
_FORMS = "FILE.npy, zeros|ones|arange|random:TYPE:COUNT[xCOUNT][:SEED], TYPE[SHAPE] or TYPE:VALUE"
ARGUMENT_HELP = (
    f"Argument of a parameter, in their order or by index: {_FORMS}. TYPE[SHAPE], such as f32[64,32], is an array of any numbers."
    " texture:SPEC and surface:SPEC make objects of arrays; texture,linear,wrap,normalized:SPEC says how it is read."
    " tensormap,64x64,128B:SPEC makes a tensor map of an array, with its box and its swizzle."
)
_SETTINGS: dict[str, tuple[str, Any]] = {
    "point": ("filter", "point"), "linear": ("filter", "linear"), "clamp": ("outside", "clamp"), "border": ("outside", "border"),
    "wrap": ("outside", "wrap"), "mirror": ("outside", "mirror"), "normalized": ("normalized", True),
    "float": ("reads", "normalized_float"),
}  # fmt: skip
"""Words after `texture,`: what they set of a `Texture`."""
_MAPPED: dict[str, tuple[str, Any]] = {
    **{name: ("swizzle", name) for name in SWIZZLES}, "nan": ("fill", "nan"), "bf16": ("element", "bf16"),
    "tf32": ("element", "tf32"),
}  # fmt: skip
"""Words after `tensormap,`, beside the box: what they set of a `TensorMap`."""
LAUNCH_HELP = "Blocks of the grid and threads of a block, X[,Y[,Z]] each."
_SHAPED = re.compile(r"(?P<type>[a-z]+\d+)\[(?P<shape>[^\]]*)\]\Z")
_SHAPE = re.compile(r"\s*\d+\s*(?:[,x]\s*\d+\s*)*,?\s*\Z")
Triple: TypeAlias = tuple[int, int, int]
_Command = TypeVar("_Command", bound=Callable[..., Any])


def launch_options(command: _Command) -> _Command:
    """The options `--launch GRID BLOCK`, or `--grid` and `--block`, of a command with the parameters `launched`, `grid`, `block`;
    `launch_texts` reads them."""
    command = click.option("--block", metavar="X[,Y[,Z]]", help="Threads per block, with --grid in place of --launch.")(command)
    command = click.option("--grid", metavar="X[,Y[,Z]]", help="Blocks of the grid.")(command)
    return click.option("--launch", "launched", nargs=2, metavar="GRID BLOCK", help=LAUNCH_HELP)(command)


CLUSTER_OPTION = click.option(
    "--cluster", metavar="X[,Y[,Z]]", help="Blocks of a cluster; default: as .reqnctapercluster says, else no clusters."
)
COOPERATIVE_OPTION = click.option(
    "--cooperative", is_flag=True, help="All blocks run together, so that they may wait for their grid (this_grid().sync())."
)


def launch_texts(launched: tuple[str, str] | None, grid: str | None, block: str | None) -> tuple[str, str]:
    """Texts of grid and block; UserError (LAUNCH_SHAPE) where they are not given, or given twice."""
    if launched is not None and (grid is not None or block is not None):
        message = "expected --launch or --grid with --block, got both"
        raise UserError(Diagnostic("LAUNCH_SHAPE", message, fix="Leave out --grid and --block."))
    if launched is not None:
        return launched
    if grid is None or block is None:
        missing = "--launch GRID BLOCK" if grid is None and block is None else "--grid" if grid is None else "--block"
        raise UserError(Diagnostic("LAUNCH_SHAPE", f"expected {missing}, got none", fix="Write for example --launch 4 128."))
    return grid, block


def extents(text: str, what: str, dashes: str = "--") -> tuple[int, ...]:
    """`X[,Y[,Z]]`; UserError (LAUNCH_SHAPE). dashes: before what the text is for, where it is an option."""
    parts = text.split(",")
    if not 1 <= len(parts) <= 3 or not all(re.fullmatch(r"[1-9]\d*", part.strip()) for part in parts):
        raise UserError(Diagnostic("LAUNCH_SHAPE", f"expected X[,Y[,Z]] of positive numbers for {dashes}{what}, got {text!r}"))
    return tuple(int(part) for part in parts)


def triple(text: str, what: str, dashes: str = "--") -> Triple:
    """The three extents of `X[,Y[,Z]]`; UserError (LAUNCH_SHAPE)."""
    x, y, z, *_ = *extents(text, what, dashes), 1, 1
    return x, y, z


def shape_of(text: str) -> tuple[int, ...] | None:
    """The extents of `64`, `64,32` or `64x32`; None for anything else."""
    return tuple(map(int, re.findall(r"\d+", text))) if _SHAPE.match(text) else None


def by_index(texts: Sequence[str], count: int, kernel: str) -> dict[int, str]:
    """The text of each parameter that has one, by `INDEX=SPEC` or by its place among the texts.

    UserError (LAUNCH_ARGUMENTS) for an index twice or beyond the parameters.
    """
    found: dict[int, str] = {}
    for position, text in enumerate(texts):
        number, equals, spec = text.partition("=")
        if not equals:
            number, spec = str(position), text
        if not re.fullmatch(r"\d+", number.strip()):
            raise _wrong(f"INDEX={_FORMS}", text)
        index = int(number)
        if index in found:
            raise _wrong(f"argument {index} once", text)
        if index >= count:
            raise _wrong(f"an index below {count}, the number of parameters of {kernel}", text)
        found[index] = spec.strip()
    return found


def arguments(texts: Sequence[str], count: int, kernel: str, unread: Collection[int] = ()) -> list[Argument]:
    """All arguments as numbers, in order of their index; the kernel reads none of those in `unread`.

    UserError (LAUNCH_ARGUMENTS) for a missing, repeated or superfluous one.
    """
    given = by_index(texts, count, kernel)
    missing = [str(index) for index in range(count) if index not in given]
    found = {index: _argument(index, spec) for index, spec in given.items()}
    if missing:
        message = f"expected {count} arguments for {kernel}, got none for parameter{'s'[: len(missing) > 1]} {', '.join(missing)}"
        fix = f"Add --arg {missing[0]}=..., where ... is {_FORMS}."
        if {int(index) for index in missing} <= set(unread):
            added = " ".join(f"--arg {index}=u64:0" for index in missing)
            which = "it" if len(missing) == 1 else "them"
            fix = f"The kernel does not read {which}, as most do not read Triton's last two: add {added}."
        raise UserError(Diagnostic("LAUNCH_ARGUMENTS", message, fix=fix))
    return [found[index] for index in range(count)]


def unread(program: Program, kernel: Routine) -> frozenset[int]:
    """Indices of the pointers and 64-bit numbers whose names stand nowhere but in the kernel's parameters."""
    text = program.module.text
    return frozenset(
        index
        for index, parameter in enumerate(kernel.parameters)
        if parameter.size_bytes == 8 and len(re.findall(rf"(?<![\w$%]){re.escape(parameter.name)}(?![\w$])", text)) == 1
    )


SHARED_FIX = "Give the launch its dynamic shared memory, with --shared BYTES, or guard the access."
"""Where a kernel with dynamic shared memory leaves its shared memory."""


def has_dynamic_shared(program: Program, kernel: Routine) -> bool:
    """Whether the kernel may use `.extern .shared` arrays, whose size the launch says."""
    return any(v.space == "shared" and not v.size_bytes for v in (*program.variables.values(), *kernel.variables.values()))


def _argument(index: int, spec: str) -> Argument:
    head, colon, rest = spec.partition(":")
    what, *settings = head.split(",")
    if what in ("texture", "surface") and colon:
        return _image(what, settings, np.asarray(_value(rest, f"{index}={spec}", "INDEX")))
    if what == "tensormap" and colon:
        return _tensor_map(settings, np.asarray(_value(rest, f"{index}={spec}", "INDEX")))
    if re.fullmatch(r"[+-]?\d+", spec):
        raise _wrong(f"the type of argument {index} before its value", spec, f"Write i32:{spec}, with the type of the parameter.")
    if spec in _TYPES:
        raise _wrong(f"a value of argument {index} after its type", spec, f"Write {spec}:1; only proofs leave numbers open.")
    return _value(spec, f"{index}={spec}", "INDEX")


def _image(what: str, settings: Sequence[str], array: NDArray[Any]) -> Texture | Surface:
    """`texture,linear,wrap,normalized,float:SPEC` or `surface:SPEC`; UserError (LAUNCH_ARGUMENTS, TEXTURE)."""
    known = _SETTINGS if what == "texture" else {}
    if unknown := [word for word in settings if word not in known]:
        raise _wrong(f"{what}:SPEC with settings among {', '.join(known) or 'none'}", ",".join((what, *unknown)))
    if what == "surface":
        return Surface(array)
    return Texture(array, **{name: value for word in settings for name, value in (known[word],)})


def _tensor_map(settings: Sequence[str], array: NDArray[Any]) -> TensorMap:
    """`tensormap,BOX,SWIZZLE,nan,bf16:SPEC`, all but the box as wanted; UserError (LAUNCH_ARGUMENTS, TENSOR_MAP)."""
    boxes = [box for word in settings if word not in _MAPPED and (box := shape_of(word)) is not None]
    if len(boxes) != 1 or any(word not in _MAPPED and shape_of(word) is None for word in settings):
        raise _wrong(f"tensormap,BOX:SPEC such as tensormap,64x64,128B:f16[256,256], with {', '.join(_MAPPED)}",
                     ",".join(("tensormap", *settings)))  # fmt: skip
    chosen = dict(_MAPPED[word] for word in settings if word in _MAPPED)
    return TensorMap(np.ascontiguousarray(array), boxes[0], **chosen)


def symbols(texts: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Content of the module's variables by name, of `NAME=SPEC` each; UserError (LAUNCH_ARGUMENTS)."""
    found: dict[str, NDArray[Any]] = {}
    for text in texts:
        name, equals, spec = text.partition("=")
        if not equals or not name.strip() or name.strip() in found:
            raise _wrong(f"NAME={_FORMS}, each name once", text)
        found[name.strip()] = np.asarray(_value(spec, text, "NAME"))
    return found


def _value(spec: str, text: str, what: str) -> NDArray[Any] | np.generic:
    head, _, rest = spec.partition(":")
    if head in _FILLS:
        return _filled(head, rest, text)
    if head in _TYPES and rest:
        return _scalar(_TYPES[head], rest, text)
    if (shaped := _SHAPED.match(spec)) is not None:
        if (shape := shape_of(shaped["shape"])) is None:
            raise _wrong("a shape such as f32[1024] or f32[64,32]", text)
        return _filled("random", f"{shaped['type']}:{'x'.join(map(str, shape))}", text)
    if spec.endswith(".npy") or Path(spec).is_file():
        return _loaded(spec)
    raise _wrong(f"{what}={_FORMS}", text)


def _wrong(expected: str, got: str, fix: str = "") -> UserError:
    return UserError(Diagnostic("LAUNCH_ARGUMENTS", f"expected {expected}, got {got!r}", fix=fix))


def _loaded(path: str) -> NDArray[Any]:
    if not Path(path).is_file():
        raise UserError(Diagnostic("FILE_NOT_FOUND", f"expected an array file, found none at {path}", fix="Check the path."))
    try:
        loaded: object = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        why = (isinstance(error, OSError) and error.strerror) or "another form, or Python objects"
        raise UserError(Diagnostic("NOT_READ", f"expected an array in .npy form at {path}, got: {why}")) from error
    if not isinstance(loaded, np.ndarray):
        raise UserError(Diagnostic("NOT_READ", f"expected one array at {path}, got an archive of several"))
    return cast("NDArray[Any]", loaded)


def _type(name: str, text: str) -> np.dtype[Any]:
    found = _TYPES.get(name)
    if found is None:
        raise _wrong(f"a type among {', '.join(_TYPES)}", f"{name} in {text}")
    return found


def _filled(fill: str, rest: str, text: str) -> NDArray[Any]:
    parts = rest.split(":")
    if not 2 <= len(parts) <= (3 if fill == "random" else 2):
        raise _wrong(f"{fill}:TYPE:COUNT[xCOUNT]{'[:SEED]' if fill == 'random' else ''}", text)
    dtype = _type(parts[0], text)
    if not re.fullmatch(r"\d+(x\d+)*", parts[1]) or (len(parts) == 3 and not re.fullmatch(r"\d+", parts[2])):
        raise _wrong("a COUNT such as 1024 or 512x512 and a number as SEED", text)
    shape = tuple(int(n) for n in parts[1].split("x"))
    count = math.prod(shape)
    if count * dtype.itemsize > MAX_BYTES:
        raise _wrong(f"an array of at most {MAX_BYTES >> 30} GiB", text)
    match fill:
        case "zeros":
            return np.zeros(shape, dtype)
        case "ones":
            return np.ones(shape, dtype)
        case "arange":
            return np.arange(count, dtype=np.int64).astype(dtype).reshape(shape)
        case _:
            generator = np.random.default_rng(int(parts[2]) if len(parts) == 3 else 0)
            if dtype.kind == "f":
                return generator.random(shape).astype(dtype)
            limits = np.iinfo(dtype)
            return generator.integers(limits.min, limits.max, shape, dtype, endpoint=True)


def _scalar(dtype: np.dtype[Any], value: str, text: str) -> np.generic:
    try:
        if dtype.kind == "f":
            return dtype.type(float(value))
        number = int(value, 0)
    except ValueError:
        raise _wrong(f"a value of {dtype.name} after the type", text) from None
    low = -(1 << 8 * dtype.itemsize - 1)
    high = (1 << 8 * dtype.itemsize) - 1 if dtype.kind == "u" else (1 << 8 * dtype.itemsize - 1) - 1
    if not (low if dtype.kind == "i" else 0) <= number <= high:
        raise _wrong(f"a value that fits {dtype.name}", text)
    return dtype.type(number)
