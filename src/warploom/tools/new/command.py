"""`warploom new`: writes a file to begin with."""

from __future__ import annotations

import keyword
import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import click

from warploom.core import Diagnostic, Span, UserError
from warploom.ctext import RESERVED, legal
from warploom.tools.command.files import not_written, require_place
from warploom.tools.command.guard import report
from warploom.tools.command.lines import plain_line
from warploom.tools.command.options import DEBUG_OPTION, JSON_OPTION
from warploom.tools.command.outcome import Outcome, Progress
from warploom.tools.command.usage import Stopwatch

TEMPLATES = Path(__file__).with_name("templates")
_LONGEST = 100
_PROSE = re.compile(r'"""[\s\S]*?"""|#.*|//.*|\{name\}')


@dataclass(frozen=True, slots=True)
class Kind:
    suffix: str
    command: str
    """Command line to try on the file; `{file}`, `{stem}` and `{name}` are filled in."""


KINDS: Mapping[str, Kind] = {
    "sketch": Kind(".py", "warploom synth {file} --cuda {stem}.cu --html {stem}.html"),
    "tensor": Kind(".py", "warploom explore {file}:{name} --size m=1024,k=1024 --target sm_90 --budget 5s"),
    "scan": Kind(".py", "warploom scan lift {file}:{name}"),
    "swflow": Kind(".swflow", "warploom solve {file}"),
    "ptx-lint": Kind(".ptx", "warploom lint {file} --launch 1 64 --arg arange:i32:64 --arg zeros:i32:64"),
}


@click.command("new")
@click.argument("kind", metavar="KIND", type=click.Choice(list(KINDS)))
@click.argument("name", metavar="NAME", type=click.Path(path_type=Path))
@JSON_OPTION
@DEBUG_OPTION
def new_command(kind: str, name: Path, as_json: bool, debug: bool) -> None:
    """Write a commented file that runs as it stands, for you to change: a sketch, a tensor function, a loop, a program.

    KIND is sketch, tensor, scan, swflow or ptx-lint. NAME is that of the kernel or function, with or without the file's ending;
    a folder before it must be there. No file is overwritten.
    """
    case = f"new {kind} {os.fsdecode(name)}"

    def work(watch: Stopwatch, _: Progress) -> Outcome:
        path, command = write_new(kind, name)
        line = plain_line(case, "solved", watch.read(), file=str(path), command=command)
        return Outcome(line, 0, written=(path,), details=(f"  try: {command}",))

    report(case, work, as_json=as_json, debug=debug)


def write_new(kind: str, name: Path) -> tuple[Path, str]:
    """The file, and the command for it. UserError: NAME, FILE_EXISTS, NOT_WRITTEN."""
    of_kind = KINDS[kind]
    word = name.name.removesuffix(of_kind.suffix)
    path = name.parent / (word + of_kind.suffix)
    place = Span(str(path), 1, 1, 1, 1)
    template = (TEMPLATES / f"{kind}.txt").read_text(encoding="utf-8")
    if not (word.isascii() and word.isidentifier()) or keyword.iskeyword(word) or legal(word) != word or len(word) > _LONGEST:
        message = f"expected a name of at most {_LONGEST} letters, digits and _, such as my_kernel, got {word!r}"
        raise UserError(Diagnostic("NAME", message, place))
    if word in RESERVED or word in re.findall(r"\w+", _PROSE.sub("", template)):
        raise UserError(Diagnostic("NAME", f"expected a name of your own, got {word!r}, which has a meaning in the file", place))
    command = of_kind.command.format(
        file=shlex.quote(str(path)), name=word, stem=shlex.quote(str(path.with_suffix(""))),
    )  # fmt: skip
    text = template.format(name=word, command=command)
    if not os.path.lexists(path):
        require_place(path)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        fix = "Choose another name, or remove the file."
        raise UserError(Diagnostic("FILE_EXISTS", f"expected a new file, got {path}, which is there", place, fix)) from None
    except OSError as error:
        raise not_written(path, error.strerror or str(error)) from None
    return path, command
