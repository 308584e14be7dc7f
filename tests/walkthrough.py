"""Runs a page of the documentation: writes its files, runs its commands, and gives the page with what they print now.

A fenced block is one of four things, and nothing else may stand on a page:

- a file: its first line names it in `title="NAME"`; the text is written there, or, under `examples/`, compared; what a workflow
  or a hook calls of `warploom` is run, and must be no bad input
- `console`: lines after `$ ` are commands (`\\` goes on in the next line), the lines after them what they print; a line `...`
  stands for any lines, ` ...` at the end of one for its rest. `warploom` runs in this process, all else in a shell
- `text`: what is no command of this machine, such as an installation
- an excerpt: each of its parts between lines `...` stands in a file that the page has written before or that lies under
  `examples/`, perhaps indented there
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import textwrap
from dataclasses import dataclass, field
from pathlib import Path

from click.testing import CliRunner

from warploom.tools.cli import cli

ROOT = Path(__file__).parents[1]
_BLOCK = re.compile(r"^( *)```(\w+)([^\n]*)\n(.*?)^\1```$", re.M | re.S)
_CALLED = re.compile(r"^ *(?:- )?(?:run|entry): (warploom .*)$", re.M)
"""A command that a workflow or a hook runs."""
_USAGE = re.compile(r"  \(\d+(\.\d+)? CPU s, \d+(\.\d+)? MB\)$| in \d+\.\d+s$", re.M)
"""Seconds and megabytes of a command's or of pytest's line, which no page shows."""


@dataclass
class Walk:
    """One page in a folder of its own, which must be the current one."""

    page: Path
    code: int = 0
    files: list[Path] = field(default_factory=list)

    def rerun(self) -> str:
        """The page with what its commands print now."""
        Path("examples").symlink_to(ROOT / "examples")
        text = self.page.read_text(encoding="utf-8")
        return _BLOCK.sub(self._block, text)

    def _block(self, match: re.Match[str]) -> str:
        indent, language, options, body = match.groups()
        body = "".join(line.removeprefix(indent) for line in body.splitlines(True))
        if title := re.search(r'title="([^"]+)"', options):
            self._file(title[1], body)
        elif language == "console":
            shown = "".join(f"{indent}{line}".rstrip(" ") for line in self._console(body).splitlines(True))
            return f"{indent}```{language}{options}\n{shown}{indent}```"
        elif language != "text":
            self._excerpt(body)
        return match[0]

    def _file(self, name: str, body: str) -> None:
        path = Path(name)
        if path.parts[0] == "examples":
            assert path.read_text(encoding="utf-8") == body, f"{self.page}: {name} has another text"
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(body, encoding="utf-8")
        for command in _CALLED.findall(body):
            printed = self._run(command)
            assert self.code != 2, f"{self.page}: {command}: {printed}"

    def _excerpt(self, body: str) -> None:
        found = (path for folder in (Path(), ROOT / "examples") for path in folder.rglob("*") if path.is_file())
        texts = [path.read_text(encoding="utf-8", errors="replace") for path in found]
        for part in re.split(r"^ *\.\.\.\n", body, flags=re.M):
            indented = [textwrap.indent(part, " " * width) for width in (0, 2, 4)]
            assert any(one in text for text in texts for one in indented), f"{self.page}: no file of the page has\n{part}"

    def _console(self, body: str) -> str:
        out: list[str] = []
        for given in filter(None, re.split(r"^(?=\$ )", body, flags=re.M)):
            assert given.startswith("$ "), f"{self.page}: expected a command after '$ ', got {given!r}"
            found = re.match(r"\$ ((?:.*\\\n)*.*\n)", given)
            assert found is not None
            told, expected = found[1], given[found.end() :]
            printed = self._run(told.replace("\\\n", " ").strip())
            out.append(f"$ {told}{elided(printed, expected)}")
        return "".join(out)

    def _run(self, command: str) -> str:
        if command == "echo $?":
            return f"{self.code}\n"
        command = command.removeprefix(".venv/bin/")
        words = shlex.split(command, comments=True)
        if words[0] == "warploom" and not {"|", ">", "&&"} & set(words):
            result = CliRunner().invoke(cli, words[1:], catch_exceptions=False)
            self.code, text = result.exit_code, result.output
        else:
            programs = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
            environment = {**os.environ, "PATH": programs, "PYTHONPATH": str(ROOT / "src"), "COLUMNS": "80"}
            done = subprocess.run(
                ["bash", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment, check=False
            )
            self.code, text = done.returncode, done.stdout
        return _USAGE.sub("", text).replace(f"{Path().resolve()}/", "")


def elided(printed: str, expected: str) -> str:
    """The printed text with the dots of the page, if that fits."""

    def pattern(line: str) -> str:
        if line == "...\n":
            return ".*?"
        return re.escape(line[:-4]) + r"[^\n]*\n" if line.endswith(" ...\n") else re.escape(line)

    return expected if re.fullmatch("".join(map(pattern, expected.splitlines(True))), printed, re.S) else printed
