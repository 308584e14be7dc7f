"""The instruction table as text, for docs/ptx.md."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from warploom.ptx.instructions.lookup import ROWS
from warploom.ptx.instructions.rows import Row


def instruction_table(statuses: Mapping[str, Mapping[str, str]] | None = None, rows: Iterable[Row] = ROWS) -> str:
    """Markdown, one line an instruction, in the order of the ISA's sections.

    `statuses`: column heading -> {row title or opcode: word}, for example {"interpreter": {"add": "yes"}}; a title wins over an
    opcode, and what is in neither is left empty.
    """
    columns = statuses or {}
    lines = [
        f"| {' | '.join(('instruction', 'ISA section', 'class', 'since PTX', 'from', 'memory', 'together', *columns))} |",
        f"|{' --- |' * (7 + len(columns))}",
    ]
    for row in sorted(rows, key=lambda r: [int(n) for n in r.section.split(".")]):
        effects = [
            w for w, has in (("reads", row.reads_memory), ("writes", row.writes_memory), ("orders", row.orders_memory)) if has
        ]
        cells = [
            f"`{row.title}`" if " " not in row.title else "`{}` {}".format(*row.title.split(" ", 1)),
            row.section, row.kind, "{}.{}".format(*row.ptx), f"sm_{row.sm}" if row.sm else "", ", ".join(effects), row.collective,
            *(found.get(row.title, found.get(row.opcode, "")) for found in columns.values()),
        ]  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"
