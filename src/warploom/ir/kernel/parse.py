"""Reads the text form of the kernel IR (grammar in `text.py`); nothing in the text is executed."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Literal, cast

from warploom.core import BY_NAME, FACTORS, Diagnostic, DType, Span, UserError
from warploom.ir.kernel.nodes import (
    Accumulate,
    Accumulated,
    Accumulator,
    Arith,
    Builtin,
    Cast,
    CommitCopies,
    Compare,
    CompareOp,
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
    IndexOp,
    IndexSelect,
    IndexVar,
    Kernel,
    Logical,
    MakeVector,
    Mixed,
    Operator,
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
from warploom.ir.kernel.rewrite import map_index
from warploom.ir.kernel.text import AXES, BUILTINS, COMPONENTS, SHUFFLES, VOTES, index_text
from warploom.ir.swizzle.kinds import KINDS
from warploom.operations import COMPARISONS, SIGN_OF, SIGN_OF_COMPARISON, WORD_OPERATIONS

_SHUFFLE_KINDS = {word: kind for kind, word in SHUFFLES.items()}


def parse_kernel(text: str, file: str = "<kernel>") -> Kernel:
    """The kernel that `kernel_text` printed; every node's span is its place in `text`.

    UserError (KERNEL_SYNTAX), with all the places found wrong, for anything outside the grammar. The kernel is not verified.
    """
    reader = _Reader(text, file)
    try:
        module = ast.parse(text)
        kernel = reader.kernel(module)
    except SyntaxError as error:
        line, column = error.lineno or 1, error.offset or 1
        span = Span(file, line, column, line, column + 1, reader.line(line))
        raise UserError(Diagnostic("KERNEL_SYNTAX", f"expected Python syntax, got {error.msg}", span)) from None
    except (RecursionError, MemoryError, ValueError):
        message = "expected a kernel's text, got a text nested too deeply or with null characters"
        raise UserError(Diagnostic("KERNEL_SYNTAX", message, Span(file, 1, 1, 1, 2))) from None
    if reader.found:
        raise UserError(*reader.found)
    return kernel


def parse_index(text: str, arg_names: Sequence[str] = ()) -> IndexExpr:
    """The completion that `index_text` printed with these texts of the hole's arguments; UserError (KERNEL_SYNTAX).

    A text that stands for two arguments is not understood.
    """
    reader = _Reader(text, "<completion>")
    known: dict[str, int] = {}
    for position, name in enumerate(arg_names):
        with suppress(SyntaxError):
            if arg_names.count(name) == 1:
                known[ast.dump(ast.parse(name, mode="eval").body)] = position
    try:
        found = reader.index(cast(ast.expr, _Arguments(known).visit(ast.parse(text, mode="eval").body)))
    except (SyntaxError, RecursionError, MemoryError, ValueError):
        message = f"expected an index expression, got {text[:80]!r}"
        raise UserError(Diagnostic("KERNEL_SYNTAX", message, reader.span(ast.Pass()))) from None

    def unknown(expr: IndexExpr) -> None:
        if isinstance(expr, (IndexVar, Builtin, SizeVar, HoleUse)):
            names = ", ".join(arg_names[position] for position in known.values())
            message = f"expected one of {names or 'no names'}, got {index_text(expr)!r}"
            raise UserError(Diagnostic("KERNEL_SYNTAX", message, reader.span(ast.Pass())))

    return map_index(found, unknown)


class _Arguments(ast.NodeTransformer):
    """Puts `arg(position)` in the place of each argument's text."""

    def __init__(self, known: Mapping[str, int]) -> None:
        self.known = known

    def visit(self, node: ast.AST) -> ast.AST:
        position = self.known.get(ast.dump(node))
        if position is None:
            return self.generic_visit(node)
        return ast.copy_location(ast.Call(ast.Name("arg"), [ast.Constant(position)], []), node)


class _Reader:
    def __init__(self, text: str, file: str) -> None:
        self.lines = text.split("\n")
        self.file = file
        self.sizes: tuple[str, ...] = ()
        self.found: list[Diagnostic] = []

    # ------------------------------------------------------------ places and errors

    def line(self, number: int) -> str:
        return self.lines[number - 1] if 0 < number <= len(self.lines) else ""

    def span(self, node: ast.AST) -> Span:
        line, offset = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        # a node that was made, not read, has None at its end
        end_line, end_offset = getattr(node, "end_lineno", None) or line, getattr(node, "end_col_offset", None) or offset + 1

        def column(number: int, byte: int) -> int:
            return len(self.line(number).encode()[:byte].decode(errors="replace")) + 1

        return Span(self.file, line, column(line, offset), end_line, column(end_line, end_offset), self.line(line))

    def wrong(self, node: ast.AST, expected: str) -> UserError:
        got = ast.unparse(node).split("\n")[0] if isinstance(node, (ast.expr, ast.stmt)) else type(node).__name__
        return UserError(Diagnostic("KERNEL_SYNTAX", f"expected {expected}, got `{got}`", self.span(node)))

    # ------------------------------------------------------------ small parts

    def literal(self, node: ast.expr, kinds: type | tuple[type, ...], expected: str) -> Any:
        try:
            value = ast.literal_eval(node)
        except (ValueError, TypeError, SyntaxError):
            raise self.wrong(node, expected) from None
        if not isinstance(value, kinds):
            raise self.wrong(node, expected)
        return value

    def integer(self, node: ast.expr) -> int:
        value = self.literal(node, int, "an integer")
        if isinstance(value, bool):
            raise self.wrong(node, "an integer")
        return value

    def integers(self, node: ast.expr) -> tuple[int, ...] | None:
        match node:
            case ast.Constant(value=None):
                return None
            case ast.Tuple(elts=elts):
                return tuple(self.integer(e) for e in elts)
            case _:
                raise self.wrong(node, "a tuple of integers or None")

    def text(self, node: ast.expr) -> str:
        return self.literal(node, str, "a string")

    def comparison(self, node: ast.expr) -> CompareOp:
        sign = self.text(node)
        if sign not in COMPARISONS:
            raise self.wrong(node, "a comparison such as '<'")
        return COMPARISONS[sign].sign

    def number(self, node: ast.expr) -> int | float:
        value = self.literal(node, (int, float, str), "a number")
        if isinstance(value, str):
            if value not in ("inf", "-inf", "nan"):
                raise self.wrong(node, 'a number, "inf", "-inf" or "nan"')
            return float(value)
        return value

    def dtype(self, node: ast.expr) -> DType:
        if isinstance(node, ast.Name) and node.id in BY_NAME and BY_NAME[node.id] not in FACTORS:
            return BY_NAME[node.id]
        raise self.wrong(node, "an element type")

    def name(self, node: ast.expr) -> str:
        match node:
            case ast.Name(id=name):
                return f"${name[2:]}" if name.startswith("__") else name
            case ast.Subscript(value=ast.Name(id="var"), slice=ast.Constant(value=str() as name)):
                return name
            case _:
                raise self.wrong(node, "a name")

    def items(self, node: ast.expr) -> list[ast.expr]:
        return node.elts if isinstance(node, ast.Tuple) else [node]

    def keywords(self, call: ast.Call, allowed: Sequence[str]) -> dict[str, ast.expr]:
        for word in call.keywords:
            if word.arg not in allowed:
                raise self.wrong(word.value, f"one of the keywords {', '.join(allowed)}" if allowed else "no keywords")
        return {word.arg: word.value for word in call.keywords if word.arg is not None}

    def arguments(self, call: ast.Call, count: int | None, keywords: Sequence[str] = ()) -> list[ast.expr]:
        self.keywords(call, keywords)
        if count is not None and len(call.args) != count:
            raise self.wrong(call, f"{count} arguments")
        return call.args

    def is_named(self, node: ast.expr) -> bool:
        """Whether it is a plain name or an escaped one."""
        return isinstance(node, ast.Name) or (
            isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id == "var"
        )

    def element(self, node: ast.expr) -> tuple[str, tuple[IndexExpr, ...]]:
        if self.is_named(node) or not isinstance(node, ast.Subscript):
            return self.name(node), ()
        return self.name(node.value), tuple(self.index(i) for i in self.items(node.slice))

    # ------------------------------------------------------------ index expressions

    def index(self, node: ast.expr) -> IndexExpr:
        match node:
            case ast.Constant(value=bool() | int() as value):
                return IndexConst(value)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as value)) if not isinstance(value, bool):
                return IndexConst(-value)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return Logical("not", (self.index(operand),))
            case ast.Name(id=name) if name in BUILTINS:
                return Builtin(name, 0)
            case ast.Name(id=name) if name in self.sizes:
                return SizeVar(name)
            case ast.Subscript(value=ast.Name(id="size"), slice=ast.Constant(value=str() as name)):
                return SizeVar(name)
            case ast.Name() | ast.Subscript():
                return IndexVar(self.name(node))
            case ast.BinOp(left=left, op=op, right=right) if SIGN_OF.get(type(op), "/") != "/":
                return IndexBinary(cast(IndexOp, SIGN_OF[type(op)]), self.index(left), self.index(right))
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in SIGN_OF_COMPARISON:
                return Compare(SIGN_OF_COMPARISON[type(op)], self.index(left), self.index(right))
            case ast.BoolOp(op=op, values=values):
                return Logical("and" if isinstance(op, ast.And) else "or", tuple(self.index(v) for v in values))
            case ast.IfExp(test=test, body=then, orelse=other):
                return IndexSelect(self.index(test), self.index(then), self.index(other))
            case ast.Call(func=ast.Name(id=word)):
                return self.index_call(node, word)
            case _:
                raise self.wrong(node, "an index expression")

    def index_call(self, node: ast.Call, word: str) -> IndexExpr:
        if word in ("min", "max"):
            lhs, rhs = self.arguments(node, 2)
            return IndexBinary(word, self.index(lhs), self.index(rhs))
        if word in BUILTINS:
            axis = self.text(self.arguments(node, 1)[0])
            if axis not in tuple(AXES):
                raise self.wrong(node, 'an axis "x", "y" or "z"')
            return Builtin(word, AXES.index(axis))
        if word == "arg":
            return HoleArg(self.integer(self.arguments(node, 1)[0]))
        if word == "hole" and node.args:
            first, *rest = self.arguments(node, None)
            return HoleUse(self.text(first), tuple(self.index(a) for a in rest))
        raise self.wrong(node, "an index expression")

    # ------------------------------------------------------------ value expressions

    def value(self, node: ast.expr) -> ValueExpr:
        match node:
            case ast.UnaryOp(op=ast.USub() | ast.Invert() as op, operand=operand):
                return Arith("neg" if isinstance(op, ast.USub) else "~", (self.value(operand),))
            case ast.BinOp(left=left, op=op, right=right) if type(op) in SIGN_OF:
                return Arith(SIGN_OF[type(op)], (self.value(left), self.value(right)))
            case ast.IfExp(test=test, body=then, orelse=other):
                return ValueSelect(self.index(test), self.value(then), self.value(other))
            case ast.Call(func=ast.Attribute(value=accumulator, attr="value"), args=[], keywords=[]):
                name, index = self.element(accumulator)
                return Accumulated(name, index, span=self.span(node))
            case ast.Attribute(value=value, attr=component) if component in tuple(COMPONENTS):
                return Component(self.value(value), COMPONENTS.index(component))
            case ast.Call(func=ast.Name(id=word)):
                return self.value_call(node, word)
            case ast.Name() | ast.Subscript():
                if self.is_named(node):
                    return ValueVar(self.name(node))
                array, index = self.element(node)
                return Read(array, index, span=self.span(node))
            case _:
                raise self.wrong(node, "a value expression")

    def value_call(self, node: ast.Call, word: str) -> ValueExpr:
        if word in BY_NAME:
            return ValueConst(self.number(self.arguments(node, 1)[0]), self.dtype(node.func))
        if word in _SHUFFLE_KINDS:
            value, operand, width = self.arguments(node, 3)
            kind = cast(Literal["idx", "up", "down", "xor"], _SHUFFLE_KINDS[word])
            return Shuffle(kind, self.value(value), self.index(operand), self.integer(width), span=self.span(node))
        if word == "holds":
            lhs, sign, rhs = self.arguments(node, 3)
            return Holds(self.comparison(sign), self.value(lhs), self.value(rhs))
        if word == "byte_perm" or word == "lop3":
            *words, control = self.arguments(node, WORD_OPERATIONS[word].words + 1)
            return Mixed(word, tuple(self.value(w) for w in words), self.index(control))
        if word in VOTES:
            (value,) = self.arguments(node, 1)
            return Vote(word, self.value(value), span=self.span(node))
        if word == "cast":
            dtype, value = self.arguments(node, 2)
            return Cast(self.dtype(dtype), self.value(value))
        if word == "from_index":
            dtype, inner = self.arguments(node, 2)
            return FromIndex(self.index(inner), self.dtype(dtype))
        if word in ("pack", "fold") and node.args:
            first, *rest = self.arguments(node, None)
            operands = tuple(self.value(a) for a in rest)
            return MakeVector(self.dtype(first), operands) if word == "pack" else Arith(self.text(first), operands)
        return Arith(word, tuple(self.value(a) for a in self.arguments(node, None)))

    # ------------------------------------------------------------ statements

    def block(self, body: Sequence[ast.stmt]) -> tuple[Stmt, ...]:
        stmts: list[Stmt] = []
        for node in body:
            if isinstance(node, ast.Pass):
                continue
            try:
                stmts.append(self.stmt(node))
            except UserError as error:
                self.found += error.diagnostics
        return tuple(stmts)

    def stmt(self, node: ast.stmt) -> Stmt:
        span = self.span(node)
        match node:
            case ast.Assign(targets=[target], value=value):
                return self.assign(target, value, span)
            case ast.AnnAssign(target=target, annotation=annotation, value=ast.expr() as value):
                return SetValue(self.name(target), self.dtype(annotation), self.value(value), span=span)
            case ast.Expr(value=ast.Call(func=ast.Name(id="sync"), args=[], keywords=[])):
                return Sync(span=span)
            case ast.Expr(value=ast.Call(func=ast.Name(id="memcpy_async")) as call):
                target, source = self.arguments(call, 2)
                array, index = self.element(target)
                return Store(array, index, self.value(source), span, is_async=True)
            case ast.Expr(value=ast.Call(func=ast.Name(id="pipeline_commit"), args=[], keywords=[])):
                return CommitCopies(span=span)
            case ast.Expr(value=ast.Call(func=ast.Name(id="pipeline_wait_prior")) as call):
                (left,) = self.arguments(call, 1)
                return WaitCopies(self.integer(left), span=span)
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=accumulator, attr="add")) as call):
                (value,) = self.arguments(call, 1, ("when",))
                when = self.keywords(call, ("when",)).get("when")
                guard = IndexConst(True) if when is None else self.index(when)
                name, index = self.element(accumulator)
                return Accumulate(name, index, self.value(value), guard, span=span)
            case ast.For(target=target, iter=ast.Call(func=ast.Name(id="range")) as call, body=body, orelse=[]):
                bounds = self.arguments(call, None, ("note",))
                if not 1 <= len(bounds) <= 3:
                    raise self.wrong(call, "1 to 3 bounds")
                start, stop = (IndexConst(0), bounds[0]) if len(bounds) == 1 else (self.index(bounds[0]), bounds[1])
                step = self.integer(bounds[2]) if len(bounds) == 3 else 1
                note = self.keywords(call, ("note",)).get("note")
                shown = "" if note is None else self.text(note)
                return For(self.name(target), start, self.index(stop), step, self.block(body), shown, span=span)
            case ast.For(target=target, iter=ast.Call(func=ast.Name(id="vector")) as call, body=body, orelse=[]):
                (elements,) = self.arguments(call, 1)
                stop = IndexConst(self.integer(elements))
                return For(self.name(target), IndexConst(0), stop, 1, self.block(body), span=span, is_vector=True)
            case ast.If(test=test, body=then, orelse=other):
                return If(self.index(test), self.block(then), self.block(other), span=span)
            case _:
                raise self.wrong(node, "a statement of the text form")

    def assign(self, target: ast.expr, value: ast.expr, span: Span) -> Stmt:
        if not self.is_named(target):
            if not isinstance(target, ast.Subscript):
                raise self.wrong(target, "a name or an array element")
            array, index = self.element(target)
            return Store(array, index, self.value(value), span=span)
        name = self.name(target)
        match value:
            case ast.Call(func=ast.Name(id="register" | "shared" as space), args=[first, *shape], keywords=[]):
                return Declare(name, space, self.dtype(first), tuple(self.integer(d) for d in shape), span=span)
            case ast.Call(func=ast.Name(id="accumulator"), args=[first, *shape]):
                words = self.keywords(value, ("op", "init", "finalize"))
                if len(words) != 3:
                    raise self.wrong(value, "the keywords op, init and finalize")
                extents = tuple(self.integer(d) for d in shape)
                init, finalize = self.number(words["init"]), self.value(words["finalize"])
                return Accumulator(name, self.dtype(first), extents, self.text(words["op"]), init, finalize, span=span)
            case _:
                return SetIndex(name, self.index(value), span=span)

    # ------------------------------------------------------------ kernel

    def kernel(self, module: ast.Module) -> Kernel:
        function = module.body[0] if len(module.body) == 1 else None
        if not isinstance(function, ast.FunctionDef):
            raise self.wrong(module.body[-1] if module.body else module, "one decorated function and nothing else")
        self.sizes = tuple(a.arg for a in function.args.args if isinstance(a.annotation, ast.Name) and a.annotation.id == "size")
        holes: list[Hole] = []
        operators: list[Operator] = []
        heads: list[dict[str, ast.expr]] = []
        for node in function.decorator_list:
            match node:
                case ast.Call(func=ast.Name(id="hole"), args=[name]):
                    holes.append(self.hole(node, self.text(name)))
                case ast.Call(func=ast.Name(id="operator"), args=[name]):
                    words = self.keywords(node, ("identity", "body"))
                    if len(words) != 2:
                        raise self.wrong(node, "the keywords identity and body")
                    empty = isinstance(words["identity"], ast.Constant) and words["identity"].value is None
                    identity = None if empty else self.number(words["identity"])
                    operators.append(Operator(self.text(name), identity, self.value(words["body"])))
                case ast.Call(func=ast.Name(id="kernel"), args=[]):
                    heads.append(self.keywords(node, ("name", "block", "grid", "warp_size", "file")))
                case _:
                    raise self.wrong(node, "@hole, @operator or @kernel")
        if len(heads) != 1 or not {"block", "grid", "warp_size"} <= set(heads[0]):
            raise self.wrong(function, "one @kernel with block, grid and warp_size")
        head = heads[0]
        block = self.integers(head["block"])
        grid = [self.index(g) for g in self.items(head["grid"])]
        if block is None or len(block) != 3 or len(grid) != 3:
            raise self.wrong(head["block"], "three extents of the block and of the grid")
        params = [p for a in function.args.args if (p := self.param(a)) is not None]
        return Kernel(
            name=self.text(head["name"]) if "name" in head else function.name,
            params=tuple(params),
            sizes=self.sizes,
            block=(block[0], block[1], block[2]),
            grid=(grid[0], grid[1], grid[2]),
            warp_size=self.integer(head["warp_size"]),
            body=self.block(function.body),
            holes=tuple(holes),
            operators=tuple(operators),
            file=self.text(head["file"]) if "file" in head else "",
            span=self.span(function),
        )

    def hole(self, node: ast.Call, name: str) -> Hole:
        words = self.keywords(node, ("kind", "args", "n", "grammar", "coefficients", "constants", "modulus"))

        def get(word: str, read: Callable[[ast.expr], Any], default: object) -> Any:
            return read(words[word]) if word in words else default

        kind = get("kind", self.text, "")
        if kind not in KINDS:
            *others, last = KINDS
            raise self.wrong(node, f"kind {', '.join(others)} or {last}")
        return Hole(
            name=name,
            kind=kind,
            arg_names=get("args", lambda e: tuple(self.text(a) for a in self.items(e)), ()),
            n=get("n", self.integer, 0),
            grammar=get("grammar", self.text, "full"),
            coefficients=get("coefficients", self.integers, None),
            constants=get("constants", self.integers, None),
            modulus=get("modulus", self.integer, 0),
            span=self.span(node),
        )

    def param(self, arg: ast.arg) -> Param | None:
        node, mark = arg.annotation, ""
        if isinstance(node, ast.Name) and node.id == "size":
            return None
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr) and isinstance(node.right, ast.Name):
            node, mark = node.left, node.right.id
        marks = {"": (False, True), "out": (True, False), "inout": (True, True), "unused": (False, False)}
        match node:
            case ast.Subscript(value=ast.Name(id="Global" | "Constant" as space), slice=inner) if mark in marks:
                dtype, *shape = self.items(inner)
                is_output, is_input = marks[mark]
                extents = tuple(self.index(e) for e in shape)
                where: Literal["global", "constant"] = "global" if space == "Global" else "constant"
                return Param(arg.arg, where, self.dtype(dtype), extents, is_output, is_input, span=self.span(arg))
            case _:
                raise self.wrong(node or arg, "Global[dtype, ...], Constant[dtype, ...] or size")
