"""The frame of pages without a script: a head, the common style, light and dark."""

from __future__ import annotations

from html import escape
from importlib.resources import files


def whole(title: str, body: str) -> str:
    """A page that needs no other file; `body` is the HTML of its sections."""
    css = files("warploom.tools.html").joinpath("page.css").read_text(encoding="utf-8")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)} · Warploom</title>\n<style>{css}</style>\n</head>\n<body>\n"
        f"<header><h1>{escape(title)}</h1></header>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def section(html: str, title: str = "") -> str:
    """A box over the whole width."""
    head = f"<h2>{escape(title)}</h2>" if title else ""
    return f'<section class="wide">{head}{html}</section>'


def scrolled(html: str, label: str) -> str:
    """A part that may be wider than the page: scrolled within its box, by keys, too."""
    return f'<div class="scrolled" tabindex="0" role="region" aria-label="{escape(label)}">{html}</div>'


def listing(html: str, label: str, name: str = "") -> str:
    """A text that is scrolled by keys, too."""
    own = f' id="{name}"' if name else ""
    return f'<pre{own} class="listing" tabindex="0" role="region" aria-label="{escape(label)}">{html}</pre>'
