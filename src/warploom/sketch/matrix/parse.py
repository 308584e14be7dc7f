"""Reads a matrix program: C with `parallel for`, holes `?swizzle(...)`, and what the paper's listings leave out.

    int K = 3;                                                constants, before what uses them
    float[lanes] sketch(__register__ float inp[2][lanes], float w[K]) { ... }
    for (int k = 0; k < K; k++) { ... }                       parallel for: one iteration a lane
    for i, j in [0..m), [0..n) ...                            rows, then lanes, of Listing 4
    ?swizzle(tid, k)   ?sw_xform(tid, n, k)   ?sw_part(n, tid, k)   ?sw_cond(tid, k)
    acc out[lanes] = { create_accumulator(0, identity, +, *) };   accumulate(out[tid], [a, b], true);
    float x[6] = symbolic_matrix([6]);   reshape(x, [2, 4])   assert(spec(x) == sketch(y));
    __device__ inline float sketch(float inp[2]) { int tid = threadIdx.x % warp_size; ... __shfl_sync(FULL_MASK, v, lane) ... }
    for i, j in [0..m), [0..n) ...   assert(spec(inp) == out);        loops without a function, of Listing 4

The body of a `__global__` function is not read: `assert` says nothing of it.

A statement may lack its `;`, and a mark such as `(A)` may follow it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from warploom.core.tokens import Cursor, Token, tokens, wrong
from warploom.sketch.matrix.threads import with_loops_as_function
from warploom.sketch.matrix.tree import (
    Accumulate,
    Asserted,
    Assign,
    Binary,
    Call,
    Declared,
    Element,
    Expr,
    For,
    Function,
    Hole,
    If,
    Items,
    Name,
    Number,
    Program,
    Return,
    Select,
    Statement,
    Unary,
)

_T = TypeVar("_T")
TYPES = {
    "float": "f32", "double": "f64", "half": "f16", "int": "i32", "unsigned": "u32", "acc": "acc",
}  # fmt: skip
_QUALIFIERS = ("__register__", "__device__", "__shared__", "__constant__", "const", "inline")
_TOKEN = re.compile(
    r"(?P<blank>\s+|//[^\n]*|/\*.*?\*/)|(?P<hole>\?sw\w*)|(?P<number>\d+\.(?!\.)\d*f?|\d+)|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<sign>\.\.|\+\+|--|\+=|-=|\*=|&&|\|\||==|!=|<=|>=|[-+*/%<>=!?:;,()\[\]{}.&|])",
    re.DOTALL,
)
_BINARY = (("||",), ("&&",), ("==", "!="), ("<", "<=", ">", ">="), ("+", "-"), ("*", "/", "%"))


def parse(text: str, file: str = "<text>") -> Program:
    """Raises UserError at the first place where it is no matrix program."""
    return _Parser(tokens(text, file, _TOKEN, "a name, a number or a sign", {})).program()


class _Parser(Cursor):
    def _name(self, what: str = "a name") -> Name:
        token = self._word(what)
        return Name(token.text, token.span)

    def _list(self, part: Callable[[], _T], end: str) -> tuple[_T, ...]:
        found: list[_T] = []
        while not self._is(end):
            found.append(part())
            if not self._taken(","):
                break
        self._expect(end)
        return tuple(found)

    def program(self) -> Program:
        declared: list[Declared] = []
        functions: list[Function] = []
        asserted: Asserted | None = None
        loops: list[Statement] = []
        notes: list[str] = []
        while self._next.kind != "end":
            start = self._next
            if self._taken("assert"):
                self._expect("(")
                left = self._expression()
                if not isinstance(left, Binary) or left.sign != "==":
                    raise wrong(start.span, "expected assert(spec(...) == sketch(...))", "Compare what both return.")
                self._expect(")")
                self._taken(";")
                asserted = Asserted(left.left, left.right, start.span)
                continue
            if self._is("for") or self._is("parallel"):
                loops.append(self._loop())
                continue
            if self._taken("__global__"):
                notes.append(self._kernel())
                continue
            is_constant = self._is("__constant__")
            kind = self._type()
            while self._taken("["):
                if not self._is("]"):
                    self._expression()
                self._expect("]")
            if self._is("(", 1):
                functions.append(self._function(kind))
            else:
                found = self._declarations(kind)  # of constant memory a later line may say what it holds
                declared += [d for d in found if not is_constant or d.value is not None]
        end = self._next.span
        if loops:
            unread = Asserted(Number("0", end), Number("0", end), end)
            program = Program(tuple(declared), tuple(functions), asserted or unread, tuple(loops), tuple(notes))
            return with_loops_as_function(program, asserted, end)
        if asserted is None:
            raise wrong(
                end, "expected assert(spec(...) == sketch(...)), got none", "Add what it must compute, as a function, and assert."
            )
        return Program(tuple(declared), tuple(functions), asserted, notes=tuple(notes))

    def _kernel(self) -> str:
        """Steps over a kernel; what is to be said of it."""
        if not self._taken("void"):
            self._type()
        name = self._name("the name of the kernel")
        while not self._is("{") and self._next.kind != "end":
            self._take()
        depth = 0
        while self._next.kind != "end":
            token = self._take()
            depth += {"{": 1, "}": -1}.get(token.text, 0)
            if not depth:
                return f"{name.span}: the kernel {name.text} is not read: assert says nothing of it"
        raise wrong(self._next.span, "expected '}', got the end of the text", "Close the kernel's block.")

    def _is_type(self) -> bool:
        return self._next.text in (*TYPES, *_QUALIFIERS) and self._next.kind == "name"

    def _type(self) -> str:
        while self._next.text in _QUALIFIERS:
            self._take()
        token = self._next
        if token.text not in TYPES:
            raise wrong(token.span, f"expected a type ({', '.join(TYPES)}), got {token.text!r}", "Declare it: float x[4];")
        return TYPES[self._take().text]

    def _extents(self) -> tuple[Expr | None, ...]:
        found: list[Expr | None] = []
        while self._taken("["):
            found.append(None if self._is("]") else self._expression())
            self._expect("]")
        return tuple(found)

    def _declarations(self, kind: str) -> list[Declared]:
        found: list[Declared] = []
        while True:
            name = self._name("the name of a variable")
            extents = self._extents()
            found.append(Declared(kind, name, extents, self._expression() if self._taken("=") else None))
            if not self._taken(","):
                break
        self._end()
        return found

    def _end(self) -> None:
        self._taken(";")
        if self._is("(") and re.fullmatch(r"[A-Z]", self._peek(1).text) and self._is(")", 2):
            self._at += 3

    def _function(self, kind: str) -> Function:
        name = self._name()
        self._expect("(")

        def parameter() -> Declared:
            type_ = self._type()
            named = self._name("the name of a parameter")
            return Declared(type_, named, self._extents(), None)

        parameters = self._list(parameter, ")")
        return Function(kind, name, parameters, self._block())

    def _block(self) -> tuple[Statement, ...]:
        if not self._taken("{"):
            return tuple(self._statement())
        found: list[Statement] = []
        while not self._is("}"):
            if self._next.kind == "end":
                raise wrong(self._next.span, "expected '}', got the end of the text", "Close the block.")
            found += self._statement()
        self._take()
        return tuple(found)

    def _statement(self) -> list[Statement]:
        start = self._next
        if self._is("parallel") or self._is("for"):
            return [self._loop()]
        if self._taken("if"):
            self._expect("(")
            test = self._expression()
            self._expect(")")
            body = self._block()
            return [If(test, body, self._block() if self._taken("else") else (), start.span)]
        if self._taken("return"):
            value = self._expression()
            self._end()
            return [Return(value, start.span)]
        if self._is_type():
            return list(self._declarations(self._type()))
        target = self._postfix()
        if isinstance(target, Call) and target.name.text == "accumulate":
            return [self._accumulate(target)]
        sign = self._next.text
        if sign not in ("=", "+=", "-=", "*="):
            raise wrong(start.span, f"expected an assignment, a loop, if or return, got {start.text!r}", "Assign it: x[i] = ...;")
        self._take()
        value = self._expression()
        self._end()
        return [Assign(target, sign, value, start.span)]

    def _accumulate(self, call: Call) -> Accumulate:
        self._end()
        match call.arguments:
            case (target, operands, *rest) if len(rest) <= 1:
                listed = operands.parts if isinstance(operands, Items) else (operands,)
                return Accumulate(target, listed, rest[0] if rest else None, call.span)
            case _:
                raise wrong(call.span, "expected accumulate(o, [values], condition)", "Pass what is added to, and the values.")

    def _loop(self) -> For:
        start = self._next
        is_parallel = self._taken("parallel")
        self._expect("for")
        if not self._is("("):
            return self._loop_over_rows_and_lanes(start)
        self._take()
        self._taken("int")
        index = self._name("the index of the loop")
        self._expect("=")
        first = self._expression()
        self._expect(";")
        tested = self._name("the index of the loop")
        sign = self._next
        if tested.text != index.text or sign.text not in ("<", "<="):
            raise wrong(tested.span, f"expected {index.text} < or <= a bound", "Count upwards.")
        self._take()
        stop = self._expression()
        if sign.text == "<=":
            stop = Binary("+", stop, Number("1", sign.span), sign.span)
        self._expect(";")
        step: Expr = Number("1", sign.span)
        stepped = self._taken("++")
        named = self._name("the index of the loop")
        if named.text != index.text:
            raise wrong(named.span, f"expected {index.text}, got {named.text}", f"Write: {index.text}++")
        if not stepped and not self._taken("++"):
            self._expect("+=", f"Write: {index.text}++")
            step = self._expression()
        self._expect(")")
        return For(index, first, stop, step, self._block(), is_parallel, start.span)

    def _loop_over_rows_and_lanes(self, start: Token) -> For:
        """`for i, j in [0..m), [0..n)`: the last index is the lane."""
        names = [self._name("the index of a loop")]
        while self._taken(","):
            names.append(self._name("the index of a loop"))
        self._expect("in")
        ranges: list[tuple[Expr, Expr]] = []
        while True:
            self._expect("[")
            first = self._expression()
            self._expect("..")
            ranges.append((first, self._expression()))
            self._expect(")", "Write: [0..n)")
            if not self._taken(","):
                break
        if len(ranges) != len(names):
            raise wrong(start.span, f"expected a range for each of {len(names)} indices, got {len(ranges)}", "Write: [0..n)")
        self._taken(":")
        body = self._block()
        one: Expr = Number("1", start.span)
        made = For(names[-1], *ranges[-1], one, body, True, start.span)
        for name, (first, stop) in zip(names[-2::-1], ranges[-2::-1], strict=True):
            made = For(name, first, stop, one, (made,), False, start.span)
        return made

    def _expression(self) -> Expr:
        test = self._binary(0)
        if not self._taken("?"):
            return test
        then = self._expression()
        self._expect(":")
        return Select(test, then, self._expression(), test.span)

    def _binary(self, level: int) -> Expr:
        if level == len(_BINARY):
            return self._unary()
        left = self._binary(level + 1)
        while self._next.text in _BINARY[level] and self._next.kind == "sign":
            sign = self._take()
            left = Binary(sign.text, left, self._binary(level + 1), sign.span)
        return left

    def _unary(self) -> Expr:
        token = self._next
        if token.text in ("-", "!"):
            self._take()
            return Unary(token.text, self._unary(), token.span)
        return self._postfix()

    def _postfix(self) -> Expr:
        token = self._take()
        match token.kind:
            case "number":
                if token.text.isdigit() and token.text[0] == "0" and len(token.text) > 1:
                    raise wrong(
                        token.span, f"expected a decimal number, got {token.text}, which C reads as octal", "No 0 in front."
                    )
                return Number(token.text.rstrip("f"), token.span)
            case "hole":
                self._expect("(")
                return Hole(token.text[1:].strip(), self._list(self._expression, ")"), token.span)
            case "name":
                if self._taken("."):
                    part = self._word("a component")
                    span = replace(token.span, end_column=part.span.end_column)
                    return Name(f"{token.text}.{part.text}", span)
                name = Name(token.text, token.span)
                if self._taken("("):
                    return Call(name, self._list(self._operand, ")"), token.span)
                if self._is("["):
                    indices: list[Expr] = []
                    while self._taken("["):
                        indices.append(self._expression())
                        self._expect("]")
                    return Element(name, tuple(indices), token.span)
                return name
            case _:
                pass
        if token.text == "(":
            found = self._expression()
            self._expect(")")
            return found
        if token.text in ("[", "{"):
            return Items(self._list(self._expression, "]" if token.text == "[" else "}"), token.span)
        got = repr(token.text) if token.text else "the end of the text"
        raise wrong(token.span, f"expected an expression, got {got}", "")

    def _operand(self) -> Expr:
        """An argument of a call: an expression, or an operator."""
        token = self._next
        if token.text in ("+", "*") and self._peek(1).text in (",", ")"):
            self._take()
            return Name(token.text, token.span)
        return self._expression()
