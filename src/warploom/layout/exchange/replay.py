"""Runs the printed text of an exchange on symbols: what each word of each thread is made of at the end.

It reads the text alone, and computes indices as C does, on 32-bit words. Values are only moved, so what happens to these symbols
happens to all values. A statement of another form, a word that was never written and a race are faults.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from warploom.machines import lines, wavefronts

Bytes = NDArray[np.int64]
"""[threads, bytes of a word, or its halves of bytes]; each is a number of a symbol, or -1 for what is not defined."""
_Words = NDArray[np.int64]

BYTES = 4
_SHIFT = 4
_TO = r'"r"\(\(unsigned\)__cvta_generic_to_shared\(&shared\[(.*)\]\)\)'
_MATRIX = r"matrix\.sync\.aligned\.m8n8\.x([124])(\.trans)?\.shared\.b16"
_MOVMATRIX = r"movmatrix\.sync\.aligned\.m8n8\.trans\.b16"
_WORD = (1 << 32) - 1
_STATEMENTS = tuple(
    (kind, re.compile(pattern))
    for kind, pattern in (
        ("flag", r"const bool (\w+) = \((.*)\) != 0"),
        ("select", r"const unsigned (\w+) = (\w+) \? ([\w\[\]]+) : ([\w\[\]]+)"),
        ("shuffle", r"const unsigned (\w+) = __shfl_sync\(0xffffffffu, ([\w\[\]]+), (.*?)(?:, (\d+))?\)"),
        ("permute", r"const unsigned (\w+) = __byte_perm\(([\w\[\]]+), ([\w\[\]]+), (.*)\)"),
        ("merge", r"const unsigned (\w+) = \(([\w\[\]]+) & (~?\w+)\) \| \(\(?([\w\[\]]+)(?: (<<|>>) 4\))? & (~?\w+)\)"),
        ("transpose", rf'unsigned (\w+); asm volatile\("{_MOVMATRIX} %0, %1;" : "=r"\((\w+)\) : "r"\(([\w\[\]]+)\)\)'),
        ("load", r"const unsigned (\w+) = (shared|memory)\[(.*)\]"),
        ("part", r"const unsigned (\w+) = (\w+)\.([xyzw])"),
        ("loads", r"const uint([24]) (\w+) = \*reinterpret_cast<const uint\1\*>\(&(shared|memory)\[(.*)\]\)"),
        ("store", r"shared\[(.*)\] = ([\w\[\]]+)"),
        ("stores", r"\*reinterpret_cast<uint([24])\*>\(&shared\[(.*)\]\) = make_uint\1\((.*)\)"),
        ("store_matrix", rf'asm volatile\("st{_MATRIX} \[%0\], \{{([%\d, ]+)\}};" :: {_TO}, (.*) : "memory"\)'),
        (
            "load_matrix",
            rf'unsigned ([\w, ]+); asm volatile\("ld{_MATRIX} \{{([%\d, ]+)\}}, \[%([124])\];" : (.*) : {_TO} : "memory"\)',
        ),
        ("meet", r"(__syncwarp|__syncthreads)\(\)"),
        ("out", r"out\[(\d+)\] = ([\w\[\]]+)"),
        ("index", r"const unsigned (\w+) = (.*)"),
    )
)


class FaultError(Exception):
    """The text does something that an exchange must not do."""


@dataclass(slots=True)
class Replay:
    """One run. `inputs` [threads, words, bytes] are the symbols; `outputs` by number of word; counts of instructions."""

    threads: int
    inputs: Bytes
    shared_words: int
    contents: dict[str, Bytes] = field(default_factory=dict[str, Bytes])
    """The content of `shared` or `memory` before the run, by word [words, bytes]."""
    outputs: dict[int, Bytes] = field(default_factory=dict[int, Bytes])
    stores: int = 0
    loads: int = 0
    store_wavefronts: int = 0
    load_wavefronts: int = 0
    sectors: int = 0
    """Sectors of 32 bytes that loads from `memory` touch, each load for itself."""
    statements: Counter[str] = field(default_factory=Counter[str])
    """By kind (`shuffle`, `select`, `permute`, ...) how many the text has."""
    _names: dict[str, _Words] = field(default_factory=dict[str, _Words])
    _words: dict[str, Bytes] = field(default_factory=dict[str, Bytes])
    _wide: dict[str, list[Bytes]] = field(default_factory=dict[str, list[Bytes]])
    _memory: Bytes = field(default_factory=lambda: np.zeros((0, BYTES), dtype=np.int64))
    _written: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))
    """Words that were written since the threads met."""
    _read: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))

    def run(self, text: str) -> None:
        """Faults are raised."""
        self._memory = self.contents.get("shared", np.full((self.shared_words, self.inputs.shape[2]), -1, dtype=np.int64)).copy()
        self._written, self._read = np.zeros(self.shared_words, dtype=np.bool_), np.zeros(self.shared_words, dtype=np.bool_)
        self._names["threadIdx"] = np.arange(self.threads)
        head, *lines = text.strip().split("\n")
        if not re.fullmatch(r"__device__ __forceinline__ void \w+\(.*\) \{", head) or lines.pop() != "}":
            raise FaultError(f"a device function was expected: {head}")
        for line in lines:
            statement = line.strip()
            for kind, pattern in _STATEMENTS:
                match = pattern.fullmatch(statement.removesuffix(";"))
                if match is not None and statement.endswith(";"):
                    self.statements[kind] += 1
                    getattr(self, f"_{kind}")(*match.groups())
                    break
            else:
                raise FaultError(f"a statement that no exchange has: {statement}")

    def brings(self, wanted: Bytes) -> None:
        """Raises a fault where the outputs are not these [threads, words, bytes], -1 for whatever may be there."""
        for word in range(wanted.shape[1]):
            goal = wanted[:, word]
            if (goal >= 0).any() and (word not in self.outputs or ((self.outputs[word] != goal) & (goal >= 0)).any()):
                raise FaultError(f"out[{word}] holds other bytes")

    @property
    def memory(self) -> Bytes:
        """The content of shared memory [words, bytes]."""
        return self._memory

    def _index(self, name: str, expression: str) -> None:
        self._names[name] = self._number(expression)

    def _flag(self, name: str, expression: str) -> None:
        self._names[name] = (self._number(expression) != 0).astype(np.int64)

    def _select(self, name: str, flag: str, yes: str, no: str) -> None:
        if flag not in self._names:
            raise FaultError(f"no condition {flag}")
        self._words[name] = np.where(self._names[flag][:, None] != 0, self._value(yes), self._value(no))

    def _shuffle(self, name: str, value: str, source: str, width: str | None) -> None:
        group = int(width or 32)
        thread = np.arange(self.threads)
        reads = thread // group * group + self._number(source) % group
        taken = self._value(value)[np.minimum(reads, self.threads - 1)]
        taken[reads >= self.threads] = -1
        self._words[name] = taken

    def _permute(self, name: str, low: str, high: str, selector: str) -> None:
        both = np.concatenate([self._value(low), self._value(high)], axis=1)
        numbers = self._number(selector)
        if (numbers >> 16).any() or (numbers & 0x8888).any():
            raise FaultError(f"a selector that repeats a sign or is too large: {selector}")
        places = np.stack([numbers >> 4 * i & 7 for i in range(BYTES)], axis=1)
        each = both.reshape(self.threads, 2 * BYTES, -1)
        self._words[name] = np.take_along_axis(each, places[:, :, None], axis=1).reshape(self.threads, -1)

    def _merge(self, name: str, kept: str, others: str, value: str, shift: str | None, mask: str) -> None:
        ones = self._number(mask)
        pieces = self.inputs.shape[2]
        bits = 8 * BYTES // pieces
        parts = np.stack([ones >> bits * i & (1 << bits) - 1 for i in range(pieces)], axis=1)
        if (self._number(others) != ones ^ _WORD).any() or ((parts != 0) & (parts != (1 << bits) - 1)).any():
            raise FaultError(f"masks that are not all bits together, or cut a piece: {others}, {mask}")
        moved = self._value(value).copy()
        if shift:
            if bits != _SHIFT:
                raise FaultError("a shift by a part of a piece")
            moved[:] = np.roll(moved, 1 if shift == "<<" else -1, axis=1)
            moved[:, 0 if shift == "<<" else -1] = -1
        self._words[name] = np.where(parts != 0, moved, self._value(kept))

    def _transpose(self, name: str, result: str, value: str) -> None:
        if name != result or self.threads % 32:
            raise FaultError(f"a matrix that no whole warps transpose, or another word than {name}")
        self._words[name] = self._turned(self._value(value))

    def _turned(self, given: Bytes) -> Bytes:
        """Lane 4 r + k of a warp has columns 2 k and 2 k + 1 of row r; the result has rows for columns."""
        found = np.empty_like(given)
        half = given.shape[1] // 2
        for thread in range(self.threads):
            row, first = thread % 32 // 4, thread % 4 * 2
            for side in (0, 1):
                source = thread // 32 * 32 + (first + side) * 4 + row // 2
                found[thread, side * half : (side + 1) * half] = given[source, row % 2 * half : (row % 2 + 1) * half]
        return found

    def _store_matrix(self, count: str, turned: str | None, named: str, address: str, values: str) -> None:
        words = [self._value(value) for value in re.findall(r'"r"\(([\w\[\]]+)\)', values)]
        if named != ", ".join(f"%{i + 1}" for i in range(int(count))) or len(words) != int(count):
            raise FaultError(f"{count} words were expected: {values}")
        places = self._rows(self._number(address), int(count))
        for matrix, word in enumerate(words):
            rows = (self._turned(word) if turned else word).reshape(-1, 8, 4, word.shape[1])
            words[matrix] = rows
        contents = np.stack(words, axis=1).reshape(-1, 4, words[0].shape[-1])
        self._write(places, [contents[:, column] for column in range(4)])
        self.store_wavefronts += self._of_rows(self._number(address), int(count))

    def _load_matrix(self, names: str, count: str, turned: str | None, named: str, last: str, results: str, address: str) -> None:
        words = names.split(", ")
        expected = ", ".join(f"%{i}" for i in range(int(count))), ", ".join(f'"=r"({name})' for name in words)
        if (named, results) != expected or not len(words) == int(count) == int(last):
            raise FaultError(f"{count} words were expected: {names}")
        places = self._rows(self._number(address), int(count))
        self._reading(places)
        rows = self._memory[places].reshape(-1, int(count), 32, self._memory.shape[1])
        for matrix, name in enumerate(words):
            word = rows[:, matrix].reshape(self.threads, -1)
            self._words[name] = self._turned(word) if turned else word
        self.load_wavefronts += self._of_rows(self._number(address), int(count))

    def _rows(self, address: _Words, count: int) -> _Words:
        """The places of each row's words, for all matrices and warps."""
        if self.threads % 32:
            raise FaultError("a matrix that no whole warps access")
        return self._places(address.reshape(-1, 32)[:, : 8 * count].ravel(), 4, self.shared_words)

    def _of_rows(self, address: _Words, count: int) -> int:
        rows, _ = self._by_warp(address * BYTES)
        return wavefronts(rows, np.broadcast_to(np.arange(32) < 8 * count, rows.shape), BYTES * 4)

    def _store(self, address: str, value: str) -> None:
        self._put(self._number(address), [self._value(value)])

    def _stores(self, count: str, address: str, values: str) -> None:
        words = [self._value(value) for value in values.split(", ")]
        if len(words) != int(count):
            raise FaultError(f"{count} words were expected: {values}")
        self._put(self._number(address), words)

    def _load(self, name: str, array: str, address: str) -> None:
        (self._words[name],) = self._get(self._number(address), 1, array)

    def _loads(self, count: str, name: str, array: str, address: str) -> None:
        self._wide[name] = self._get(self._number(address), int(count), array)

    def _part(self, name: str, whole: str, component: str) -> None:
        parts = self._wide.get(whole, [])
        if "xyzw".index(component) >= len(parts):
            raise FaultError(f"no {component} in {whole}")
        self._words[name] = parts["xyzw".index(component)]

    def _meet(self, kind: str) -> None:
        if kind == "__syncwarp" and self.threads > 32:
            raise FaultError("threads of several warps meet in __syncwarp")
        self._written[:] = False
        self._read[:] = False

    def _out(self, number: str, value: str) -> None:
        self.outputs[int(number)] = self._value(value)

    def _put(self, address: _Words, words: list[Bytes]) -> None:
        self._write(self._places(address, len(words), self.shared_words), words)
        self.store_wavefronts += self._wavefronts(address, len(words))

    def _write(self, places: _Words, words: list[Bytes]) -> None:
        if len(np.unique(places)) != places.size or self._written[places].any() or self._read[places].any():
            raise FaultError("a word of shared memory is written twice, or read by others, before the threads meet")
        for column, word in enumerate(words):
            self._memory[places[:, column]] = word
        self._written[places] = True
        self.stores += 1

    def _get(self, address: _Words, count: int, array: str) -> list[Bytes]:
        if array == "memory":
            held = self.contents.get("memory", np.zeros((0, BYTES), dtype=np.int64))
            places = self._places(address, count, len(held))
            self.loads += 1
            rows, active = self._by_warp(address * BYTES)
            self.sectors += lines(rows, active, BYTES * count)
            return [held[places[:, column]] for column in range(count)]
        places = self._places(address, count, self.shared_words)
        self._reading(places)
        self.load_wavefronts += self._wavefronts(address, count)
        return [self._memory[places[:, column]] for column in range(count)]

    def _reading(self, places: _Words) -> None:
        if self._written[places].any():
            raise FaultError("a word of shared memory is read before the threads meet")
        self._read[places] = True
        self.loads += 1

    @staticmethod
    def _places(address: _Words, count: int, room: int) -> _Words:
        if (address % count).any() or (address + count > room).any():
            raise FaultError(f"an address that is not aligned to {count} words or not below {room}")
        return address[:, None] + np.arange(count)

    def _wavefronts(self, address: _Words, count: int) -> int:
        rows, active = self._by_warp(address * BYTES)
        return wavefronts(rows, active, BYTES * count)

    def _by_warp(self, addresses: _Words) -> tuple[_Words, NDArray[np.bool_]]:
        padded = np.zeros(-(-self.threads // 32) * 32, dtype=np.int64)
        padded[: self.threads] = addresses
        active = np.arange(len(padded)) < self.threads
        return padded.reshape(-1, 32), active.reshape(-1, 32)

    def _value(self, text: str) -> Bytes:
        match = re.fullmatch(r"in\[(\d+)\]", text)
        if match is not None and int(match[1]) < self.inputs.shape[1]:
            return self.inputs[:, int(match[1])]
        if text not in self._words:
            raise FaultError(f"no word {text}")
        return self._words[text]

    def _number(self, text: str) -> _Words:
        """The value of an index by thread, as C computes it on unsigned words."""
        condition = re.fullmatch(r"(.*) ([<>]) (\d+) \? (.*) : (.*)", text.strip())
        if condition is not None:
            test, sign, edge, yes, no = condition.groups()
            left = self._number(test)
            return np.where(left < int(edge) if sign == "<" else left > int(edge), self._number(yes), self._number(no))
        try:
            found = self._evaluated(ast.parse(text.strip().replace("threadIdx.x", "threadIdx"), mode="eval").body)
        except SyntaxError as error:
            raise FaultError(f"no index: {text}") from error
        return np.broadcast_to(found, self.threads)

    def _evaluated(self, node: ast.expr) -> _Words:
        match node:
            case ast.Constant(value=int(value)):
                return np.asarray(value, dtype=np.int64)
            case ast.Name(id=name) if name in self._names:
                return self._names[name]
            case ast.UnaryOp(op=ast.Invert(), operand=operand):
                return ~self._evaluated(operand) & _WORD
            case ast.BinOp(left=left, op=operator, right=right):
                return self._combined(operator, self._evaluated(left), self._evaluated(right))
            case _:
                raise FaultError(f"no index: {ast.unparse(node)}")

    @staticmethod
    def _combined(operator: ast.operator, one: _Words, two: _Words) -> _Words:
        match operator:
            case ast.Add():
                return one + two & _WORD
            case ast.Sub():
                return one - two & _WORD
            case ast.Mult():
                return one * two & _WORD
            case ast.BitAnd():
                return one & two
            case ast.BitXor():
                return one ^ two
            case ast.BitOr():
                return one | two
            case ast.LShift() if (two < 32).all():
                return one << two & _WORD
            case ast.RShift() if (two < 32).all():
                return one >> two
            case ast.Mod() if (two > 0).all():
                return one % two
            case _:
                raise FaultError("an operator or a divisor that no index has")
