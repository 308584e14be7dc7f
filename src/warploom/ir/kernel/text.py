"""Text form of the kernel IR: valid Python syntax, so that every editor can show it. `parse.py` reads it back.

    kernel    := ("@" hole_decl | "@" operator)* "@kernel(name=, block=, grid=(index, index, index), warp_size=, file=)"
                 "def" NAME "(" (param | size), ... "):" block
    hole_decl := "hole(" STRING ", kind=, args=(STRING, ...), n=, grammar=, coefficients=, constants=, modulus=)"
    operator  := "operator(" STRING ", identity=, body=value)"                              over __a and __b
    param     := NAME ": Global[dtype, index, ...]" ["| out" | "| inout" | "| unused"]      also Constant[...]; alone: input
    size      := NAME ": size"
    stmt      := name "= register(dtype, INT, ...)" | name "= shared(dtype, INT, ...)"
               | name "=" index | name ":" dtype "=" value | name "[" index, ... "] =" value
               | name "= accumulator(dtype, INT, ..., op=, init=, finalize=value)"          over __state
               | acc ".add(" value [", when=" index] ")" | "sync()" | "pass"
               | "for" name "in range(start, stop, step, note=):" block | "if" index ":" block ["else:" block]
    index     := Python's expression over INT, True, False, name, thread_id, thread_id("y"), block_id, block_dim, grid_dim,
                 min(index, index), max(index, index), hole(STRING, index, ...)
    value     := dtype(NUMBER) | name | name "[" index, ... "]" | acc ".value()" | value "." ("x" | "y" | "z" | "w")
               | "-" value | "~" value | value op value | min(value, ...) | max(value, ...) | OPERATOR(value, ...)
               | fold(STRING, value, ...) | value "if" index "else" value | cast(dtype, value) | from_index(dtype, index)
               | pack(dtype, value, ...) | (shfl | shfl_up | shfl_down | shfl_xor)(value, index, INT)
               | holds(value, STRING, value) | (ballot | any | all)(value) | popc(value)
               | byte_perm(value, value, index) | lop3(value, value, value, index)
    name      := NAME | 'var["any text"]' | '__text' for $text          a word of the form itself is always written var["word"]

Rank 0 is `name[()]`. Spans are not part of the form.
"""

from __future__ import annotations

import ast
import keyword
import math
from collections.abc import Iterable, Sequence
from typing import assert_never

from warploom.core import BY_NAME
from warploom.ir.kernel.nodes import (
    Accumulate,
    Accumulated,
    Accumulator,
    Arith,
    Builtin,
    Cast,
    CommitCopies,
    Compare,
    Component,
    Declare,
    For,
    FromIndex,
    Holds,
    Hole,
    HoleArg,
    HoleUse,
    If,
    IndexBinary,
    IndexConst,
    IndexExpr,
    IndexSelect,
    IndexVar,
    Kernel,
    Logical,
    MakeVector,
    Mixed,
    Param,
    Read,
    SetIndex,
    SetValue,
    Shuffle,
    SizeVar,
    Stmt,
    Store,
    Sync,
    ValueConst,
    ValueExpr,
    ValueSelect,
    ValueVar,
    Vote,
    WaitCopies,
)

BUILTINS = ("thread_id", "block_id", "block_dim", "grid_dim")
SHUFFLES = {"idx": "shfl", "up": "shfl_up", "down": "shfl_down", "xor": "shfl_xor"}
VOTES = ("ballot", "any", "all", "match_any", "match_all")
AXES = "xyz"
COMPONENTS = "xyzw"
WORDS = frozenset((
    *BY_NAME, *BUILTINS, *SHUFFLES.values(), *VOTES, "holds", "popc", "byte_perm", "lop3", "min", "max", "hole", "arg", "var",
    "size", "register", "shared", "accumulator", "range", "vector", "sync",
    "memcpy_async", "pipeline_commit", "pipeline_wait_prior", "fold", "cast", "from_index", "pack",
))  # fmt: skip
"""Names that mean something in the text form."""

_CONDITIONAL, _OR, _AND, _NOT, _COMPARE, _BITOR, _XOR, _BITAND, _SHIFT, _SUM, _PRODUCT, _UNARY, _ATOM = range(13)
_LEVEL = {
    "|": _BITOR, "^": _XOR, "&": _BITAND, "<<": _SHIFT, ">>": _SHIFT, "+": _SUM, "-": _SUM, "*": _PRODUCT, "/": _PRODUCT,
    "//": _PRODUCT, "%": _PRODUCT,
}  # fmt: skip

_BITS = frozenset(("|", "^", "&", "<<", ">>"))
"""Operators whose binary operands are always parenthesised: nobody knows their precedence by heart."""
_ASSOCIATIVE = frozenset(("|", "^", "&"))

_SOURCE_LEVEL: dict[type[ast.operator], int] = {
    ast.BitOr: _BITOR, ast.BitXor: _XOR, ast.BitAnd: _BITAND, ast.LShift: _SHIFT, ast.RShift: _SHIFT, ast.Add: _SUM,
    ast.Sub: _SUM, ast.Pow: _UNARY,
}  # fmt: skip

_Piece = tuple[str, int]
"""A text and how tightly its outermost operator binds."""


def index_text(expr: IndexExpr, arg_names: Sequence[str] = ()) -> str:
    """Python source of an index expression, with the parentheses that Python needs and those around operands of bit operators.

    `HoleArg(i)` prints as `arg_names[i]` (any Python expression), or `arg(i)` beyond their end.
    """
    return _Printer(arg_names=tuple(arg_names)).index(expr)[0]


def kernel_text(kernel: Kernel) -> str:
    """The text form of a kernel, with its holes; `parse_kernel` reads it back.

    ValueError if a parameter's or size's name is not a Python identifier.
    """
    printer = _Printer(sizes=frozenset(kernel.sizes))
    names = [p.name for p in kernel.params] + list(kernel.sizes)
    for name in names:
        if not name.isidentifier() or keyword.iskeyword(name):
            raise ValueError(f"parameter name {name!r} is not an identifier")
    lines = [_hole(h) for h in kernel.holes]
    lines += [f"@operator({o.name!r}, identity={_number(o.identity)}, body={printer.value(o.body)[0]})" for o in kernel.operators]
    def_name = kernel.name if kernel.name.isidentifier() and not keyword.iskeyword(kernel.name) else "kernel"
    options = [] if def_name == kernel.name else [f"name={kernel.name!r}"]
    options += [f"block={kernel.block!r}", f"grid=({', '.join(printer.index(g)[0] for g in kernel.grid)})"]
    options += [f"warp_size={kernel.warp_size}"] + ([f"file={kernel.file!r}"] if kernel.file else [])
    lines.append(f"@kernel({', '.join(options)})")
    params = [f"{p.name}: {printer.param(p)}" for p in kernel.params] + [f"{s}: size" for s in kernel.sizes]
    lines.append(f"def {def_name}({', '.join(params)}):")
    lines += printer.block(kernel.body)
    return "\n".join(lines) + "\n"


def _hole(hole: Hole) -> str:
    parts = [repr(hole.name), f"kind={hole.kind!r}", f"args={hole.arg_names!r}"]
    parts += [f"n={hole.n}"] if hole.n else []
    parts += [f"grammar={hole.grammar!r}"] if hole.grammar != "full" else []
    parts += [f"coefficients={hole.coefficients!r}"] if hole.coefficients is not None else []
    parts += [f"constants={hole.constants!r}"] if hole.constants is not None else []
    parts += [f"modulus={hole.modulus}"] if hole.modulus else []
    return f"@hole({', '.join(parts)})"


def _number(value: float | None) -> str:
    return repr(value) if value is None or math.isfinite(value) else repr(str(value))


def _name(name: str) -> str:
    """Text of a variable or array: its name when nothing else reads so."""
    if name.startswith("$") and name[1:].isidentifier():
        return f"__{name[1:]}"
    if name in WORDS or keyword.iskeyword(name) or name.startswith("__") or not name.isidentifier():
        return f"var[{name!r}]"
    return name


def _wrap(piece: _Piece, level: int) -> str:
    return piece[0] if piece[1] >= level else f"({piece[0]})"


def _level_of_source(text: str) -> int:
    """Precedence of a user's expression."""
    try:
        node = ast.parse(text, mode="eval").body
    except SyntaxError:
        return -1
    match node:
        case ast.IfExp() | ast.Lambda() | ast.Starred() | ast.NamedExpr():
            return _CONDITIONAL if isinstance(node, ast.IfExp) else -1
        case ast.BoolOp(op=op):
            return _OR if isinstance(op, ast.Or) else _AND
        case ast.UnaryOp(op=op):
            return _NOT if isinstance(op, ast.Not) else _UNARY
        case ast.Compare():
            return _COMPARE
        case ast.BinOp(op=op):
            return _SOURCE_LEVEL.get(type(op), _PRODUCT)
        case ast.Tuple():
            return -1
        case _:
            return _ATOM


class _Printer:
    """Texts of the nodes of one kernel."""

    def __init__(self, arg_names: tuple[str, ...] = (), sizes: frozenset[str] | None = None) -> None:
        self.arg_names = arg_names
        self.sizes = sizes

    def _binary(self, op: str, lhs: _Piece, rhs: _Piece) -> _Piece:
        level = _LEVEL[op]
        if op in _BITS:
            left = lhs[0] if op in _ASSOCIATIVE and lhs[1] == level else _wrap(lhs, _UNARY)
            return f"{left} {op} {_wrap(rhs, _UNARY)}", level
        return f"{_wrap(lhs, level)} {op} {_wrap(rhs, level + 1)}", level

    def index(self, expr: IndexExpr) -> _Piece:
        match expr:
            case IndexConst(value):
                return repr(value), (_ATOM if value >= 0 else _UNARY)
            case IndexVar(name):
                shadowed = self.sizes is not None and name in self.sizes
                return (f"var[{name!r}]" if shadowed else _name(name)), _ATOM
            case SizeVar(name):
                plain = _name(name) == name and (self.sizes is None or name in self.sizes)
                return (name if plain else f"size[{name!r}]"), _ATOM
            case Builtin(name, axis):
                return (name if axis == 0 else f'{name}("{AXES[axis]}")'), _ATOM
            case HoleArg(position):
                if position >= len(self.arg_names):
                    return f"arg({position})", _ATOM
                text = self.arg_names[position]
                return text, _level_of_source(text)
            case HoleUse(hole, args):
                return f"hole({', '.join([repr(hole), *(self.index(a)[0] for a in args)])})", _ATOM
            case IndexBinary(op, lhs, rhs):
                if op == "min" or op == "max":
                    return f"{op}({self._top(lhs)}, {self._top(rhs)})", _ATOM
                return self._binary(op, self.index(lhs), self.index(rhs))
            case Compare(op, lhs, rhs):
                sides = [_wrap(self.index(side), _COMPARE + 1) for side in (lhs, rhs)]
                return f"{sides[0]} {op} {sides[1]}", _COMPARE
            case Logical("not", operands):
                return f"not {_wrap(self.index(operands[0]), _NOT)}", _NOT
            case Logical(op, operands):
                level = _AND if op == "and" else _OR
                return f" {op} ".join(_wrap(self.index(o), level + 1) for o in operands), level
            case IndexSelect(cond, then, other):
                return self._conditional(cond, self.index(then), self.index(other))
            case _:
                assert_never(expr)

    def _top(self, expr: IndexExpr) -> str:
        return _wrap(self.index(expr), _CONDITIONAL)

    def _conditional(self, cond: IndexExpr, then: _Piece, other: _Piece) -> _Piece:
        test = _wrap(self.index(cond), _OR)
        return f"{_wrap(then, _OR)} if {test} else {_wrap(other, _CONDITIONAL)}", _CONDITIONAL

    def _element(self, array: str, index: tuple[IndexExpr, ...]) -> str:
        return f"{_name(array)}[{', '.join(self._top(i) for i in index) or '()'}]"

    def _accumulator(self, name: str, index: tuple[IndexExpr, ...]) -> str:
        return self._element(name, index) if index else _name(name)

    def value(self, expr: ValueExpr) -> _Piece:
        match expr:
            case ValueConst(value, dtype):
                return f"{dtype.name}({_number(value)})", _ATOM
            case Read(array, index):
                return self._element(array, index), _ATOM
            case ValueVar(name):
                return _name(name), _ATOM
            case Arith(op, operands):
                return self._arith(op, operands)
            case ValueSelect(cond, then, other):
                return self._conditional(cond, self.value(then), self.value(other))
            case Shuffle(kind, value, operand, width):
                return f"{SHUFFLES[kind]}({self.value(value)[0]}, {self._top(operand)}, {width})", _ATOM
            case Holds(op, lhs, rhs):
                return f"holds({self.value(lhs)[0]}, {op!r}, {self.value(rhs)[0]})", _ATOM
            case Vote(kind, value):
                return f"{kind}({self.value(value)[0]})", _ATOM
            case Mixed(op, operands, control):
                return f"{op}({', '.join(self.value(o)[0] for o in operands)}, {self._top(control)})", _ATOM
            case Cast(dtype, value):
                return f"cast({dtype.name}, {self.value(value)[0]})", _ATOM
            case FromIndex(inner, dtype):
                return f"from_index({dtype.name}, {self._top(inner)})", _ATOM
            case MakeVector(dtype, items):
                return f"pack({', '.join([dtype.name, *(self.value(i)[0] for i in items)])})", _ATOM
            case Component(value, position):
                return f"{_wrap(self.value(value), _ATOM)}.{COMPONENTS[position]}", _ATOM
            case Accumulated(name, index):
                return f"{self._accumulator(name, index)}.value()", _ATOM
            case _:
                assert_never(expr)

    def _arith(self, op: str, operands: tuple[ValueExpr, ...]) -> _Piece:
        pieces = [self.value(o) for o in operands]
        if op in ("neg", "~") and len(pieces) == 1:
            return f"{'-' if op == 'neg' else '~'}{_wrap(pieces[0], _UNARY)}", _UNARY
        if op in _LEVEL and len(pieces) == 2:
            return self._binary(op, pieces[0], pieces[1])
        texts = [text for text, _ in pieces]
        if op in ("min", "max", "popc") or (op.isidentifier() and op not in WORDS and not keyword.iskeyword(op)):
            return f"{op}({', '.join(texts)})", _ATOM
        return f"fold({', '.join([repr(op), *texts])})", _ATOM

    def param(self, param: Param) -> str:
        space = "Global" if param.space == "global" else "Constant"
        text = f"{space}[{', '.join([param.dtype.name, *(self._top(e) for e in param.shape)])}]"
        marks = {(False, True): "", (True, False): " | out", (True, True): " | inout", (False, False): " | unused"}
        return text + marks[param.is_output, param.is_input]

    def block(self, body: Iterable[Stmt]) -> list[str]:
        lines = [line for stmt in body for line in self.stmt(stmt)]
        return [f"    {line}" for line in lines or ["pass"]]

    def stmt(self, stmt: Stmt) -> list[str]:
        match stmt:
            case Declare(name, space, dtype, shape):
                return [f"{_name(name)} = {space}({', '.join([dtype.name, *map(str, shape)])})"]
            case SetIndex(name, expr):
                return [f"{_name(name)} = {self.index(expr)[0]}"]
            case SetValue(name, dtype, value):
                return [f"{_name(name)}: {dtype.name} = {self.value(value)[0]}"]
            case Store(array, index, value, is_async=True):
                return [f"memcpy_async({self._element(array, index)}, {self.value(value)[0]})"]
            case Store(array, index, value):
                return [f"{self._element(array, index)} = {self.value(value)[0]}"]
            case Accumulator(name, dtype, shape, op, init, finalize):
                shown = [dtype.name, *map(str, shape), f"op={op!r}", f"init={_number(init)}"]
                return [f"{_name(name)} = accumulator({', '.join(shown)}, finalize={self.value(finalize)[0]})"]
            case Accumulate(name, index, value, guard):
                when = "" if guard == IndexConst(True) else f", when={self._top(guard)}"
                return [f"{self._accumulator(name, index)}.add({self.value(value)[0]}{when})"]
            case For(var, _, stop, _, body) if stmt.is_vector:
                return [f"for {_name(var)} in vector({self._top(stop)}):", *self.block(body)]
            case For(var, start, stop, step, body, note):
                bounds = [self._top(stop)]
                if step != 1 or start != IndexConst(0):
                    bounds.insert(0, self._top(start))
                bounds += [str(step)] if step != 1 else []
                bounds += [f"note={note!r}"] if note else []
                return [f"for {_name(var)} in range({', '.join(bounds)}):", *self.block(body)]
            case If(cond, then, other):
                lines = [f"if {self.index(cond)[0]}:", *self.block(then)]
                return [*lines, "else:", *self.block(other)] if other else lines
            case Sync():
                return ["sync()"]
            case CommitCopies():
                return ["pipeline_commit()"]
            case WaitCopies(left):
                return [f"pipeline_wait_prior({left})"]
            case _:
                assert_never(stmt)
