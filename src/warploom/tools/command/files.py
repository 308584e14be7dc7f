"""Files that a command is asked to write: refused before long work where they cannot be written, and never left half written."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import click

from warploom.core import Diagnostic, Span, UserError
from warploom.tools.command.messages import one_line, rendered

_LONGEST_MARK = 40
"""Bytes of a file's name that the file beside it repeats."""


def write_text(path: Path, text: str, *, mode: int | None = None) -> None:
    """Writes the text as UTF-8; UserError (NOT_WRITTEN)."""
    write_bytes(path, text.encode("utf-8", "surrogateescape"), mode=mode)


def write_bytes(path: Path, data: bytes, *, mode: int | None = None) -> None:
    """Under the name stands the old file or the whole new one, whatever happens; UserError (NOT_WRITTEN)."""
    write_file(path, lambda file: file.write(data), mode=mode)


def write_file(path: Path, write: Callable[[IO[bytes]], Any], *, mode: int | None = None) -> None:
    """`write` gets a file beside the one asked for, which takes its name when all is on the disk; UserError (NOT_WRITTEN).

    Links are followed. A pipe or a device is written itself. `mode`: permissions; None: those of the old
    file, or what the system gives new ones.
    """
    try:
        try:
            found = path.stat()
        except FileNotFoundError:
            found = None
        if found is not None and not stat.S_ISREG(found.st_mode):
            with path.open("wb") as file:  # by the name given: /dev/stdout leads to a pipe that has no name of its own
                write(file)
            return
        target = Path(os.path.realpath(path))
        handle, name = tempfile.mkstemp(prefix=f".{_shortened(target.name)}-", dir=target.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                write(file)
                file.flush()
                os.fchmod(file.fileno(), mode if mode is not None else _mode(found))
                os.fsync(file.fileno())
            os.replace(name, target)
        except BaseException:
            with suppress(OSError):
                os.unlink(name)
            raise
    except OSError as error:
        raise not_written(path, error.strerror or str(error)) from error


def make_folder(path: Path) -> None:
    """The last part of the path only; UserError (NOT_WRITTEN)."""
    try:
        path.mkdir(exist_ok=True)
    except OSError as error:
        raise not_written(path, error.strerror or str(error)) from error


def require_name(text: str) -> None:
    """UserError (NOT_WRITTEN) for `-`, which is no name that anybody means."""
    if text == "-":
        fix = "Name /dev/stdout to have it printed, or ./- for a file of that name."
        raise UserError(Diagnostic("NOT_WRITTEN", "expected the name of a file, got -", fix=fix))


def require_place(path: Path, *, is_folder: bool = False) -> None:
    """UserError (NOT_WRITTEN) where a file, or a folder with files, surely cannot be written. Makes nothing."""
    try:
        found = _stat(path)
        if found is None or (not is_folder and stat.S_ISREG(found.st_mode)):
            parent = Path(os.path.realpath(path)).parent
            above = _stat(parent)
            if above is None:
                raise not_written(path, f"there is no folder {parent}")
            if not stat.S_ISDIR(above.st_mode):
                raise not_written(path, f"{parent} is no folder")
            if not os.access(parent, os.W_OK | os.X_OK):
                raise not_written(path, f"the folder {parent} cannot be written")
        elif stat.S_ISDIR(found.st_mode) != is_folder:
            raise not_written(path, f"that is {'no' if is_folder else 'a'} folder")
        if found is not None and not os.access(path, os.W_OK):
            raise not_written(path, "it cannot be written")
    except OSError as error:
        raise not_written(path, error.strerror or str(error)) from error


class RefusedPathError(click.ClickException):
    """An error of the command line that has a place and a fix."""

    exit_code = 2

    def __init__(self, error: UserError) -> None:
        super().__init__(one_line(error.diagnostics[0]))
        self._texts = rendered(error.diagnostics)

    def show(self, file: IO[Any] | None = None) -> None:
        for text in self._texts:
            click.echo(text, file=file, err=file is None)


class OutputPath(click.Path):
    """A path given on the command line to write to; RefusedPathError while the command line is read."""

    def __init__(self, *, is_folder: bool = False) -> None:
        super().__init__(path_type=Path, readable=False)
        self._is_folder = is_folder

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = super().convert(value, param, ctx)
        if isinstance(value, Path):  # a default is looked at where it is used
            return path
        try:
            require_name(os.fsdecode(value))
            require_place(Path(os.fsdecode(path)), is_folder=self._is_folder)
        except UserError as error:
            raise RefusedPathError(error) from error
        return path


OUTPUT_FILE, OUTPUT_FOLDER = OutputPath(), OutputPath(is_folder=True)


def not_written(path: Path, why: str) -> UserError:
    message = f"expected a place to write {path}, got: {why}"
    fix = "Name a file in a folder that is there and can be written; folders above it are not made."
    return UserError(Diagnostic("NOT_WRITTEN", message, Span(str(path), 1, 1, 1, 1), fix))


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def _mode(found: os.stat_result | None) -> int:
    if found is not None:
        return stat.S_IMODE(found.st_mode)
    umask = os.umask(0)
    os.umask(umask)
    return 0o666 & ~umask


def _shortened(name: str) -> str:
    return os.fsdecode(os.fsencode(name)[:_LONGEST_MARK])
