"""Comments of one line that no user's name can end."""

from __future__ import annotations


def comment(text: str) -> str:
    """`// text`; what could end the line or join it with the next is shown as `?`."""
    return f"// {_shown(text)}"


def block_comment(text: str) -> str:
    """`/* text */`."""
    return f"/* {_shown(text).replace('*/', '* /').replace('/*', '/ *')} */"


def _shown(text: str) -> str:
    return "".join(c if c.isprintable() and c != "\\" else "?" for c in " ".join(text.split()))
