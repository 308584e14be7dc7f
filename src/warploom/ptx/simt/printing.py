"""Device printf: `vprintf(format, arguments)`, formatted as C does (CUDA C++ Programming Guide, formatted output)."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable

_FIELD = re.compile(
    r"%(?P<flags>[-+ #0]*)(?P<width>\d{1,4}|\*)?(?:\.(?P<precision>\d{1,4}|\*)?)?(?P<size>hh|h|ll|l|z|t|j)?(?P<kind>[a-zA-Z%])"
)
_DOT = re.compile(r"\.")


def formatted(template: str, arguments: bytes, text_at: Callable[[int], str]) -> str:
    """The text of one call; `arguments` is the buffer of packed values, each aligned to its size."""
    reader = _Reader(arguments)

    def field(match: re.Match[str]) -> str:
        kind = match["kind"]
        if kind == "%":
            return "%"
        flags = match["flags"]
        width = str(reader.integer(4) & 0xFFF) if match["width"] == "*" else match["width"] or ""
        has_dot = _DOT.search(match[0]) is not None
        precision = str(reader.integer(4) & 0xFFF) if match["precision"] == "*" else match["precision"] or "0"
        start = f"%{flags}{width}" + (f".{precision}" if has_dot else "")
        bits = 64 if match["size"] in ("ll", "l", "z", "t", "j") else 32
        match kind:
            case "d" | "i":
                return f"{start}d" % _narrow(reader.integer(bits // 8), match["size"], signed=True)
            case "u" | "o" | "x" | "X":
                value = _narrow(reader.integer(bits // 8), match["size"], signed=False)
                if kind == "u":
                    kind = "d"
                if kind == "o" and "#" in flags:
                    return (start.replace("#", "") + "s") % ("0" + format(value, "o"))
                return f"{start}{kind}" % value
            case "c":
                return f"%{flags}{width}c" % (reader.integer(4) & 0xFF)
            case "s":
                return f"{start}s" % text_at(reader.integer(8))
            case "f" | "F" | "e" | "E" | "g" | "G":
                return f"{start}{kind}" % reader.real()
            case "a" | "A":
                text = float.hex(reader.real())
                return f"%{flags}{width}s" % (text.upper() if kind == "A" else text)
            case "p":
                return f"%{flags}{width}s" % hex(reader.integer(8))
            case _:
                return match[0]

    return _FIELD.sub(field, template)


def _narrow(value: int, size: str | None, *, signed: bool) -> int:
    bits = {"hh": 8, "h": 16, None: 32}.get(size, 64)
    value &= (1 << bits) - 1
    return value - (1 << bits) if signed and value >> (bits - 1) else value


class _Reader:
    """Values one after another; zero where the buffer ends."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def _take(self, size: int) -> bytes:
        start = (self._at + size - 1) // size * size
        self._at = start + size
        return self._data[start : self._at].ljust(size, b"\0")

    def integer(self, size: int) -> int:
        return int.from_bytes(self._take(size), "little")

    def real(self) -> float:
        return struct.unpack("<d", self._take(8))[0]
