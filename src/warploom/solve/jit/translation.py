"""C of compiled functions. The text of a function is its meaning: integers of 64 bits, `//` and `%` as Python rounds, floats that
are neither contracted nor reordered."""

from __future__ import annotations

import ast
from math import log2
from types import ModuleType
from typing import Any

import numpy as np

from warploom.ctext import Text, binary, call, cast_to, chain, conditional, decimal, element, every, exact_double, integer, unary
from warploom.solve.jit.kinds import Array, Number, Record, Several
from warploom.solve.jit.unit import Function, Source, Unit, indices_of, unit_of

INT, WORD, FLOAT, TRUTH = Number

PREAMBLE = """\
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

static inline int64_t floor_div_int(int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return -a;
  int64_t q = a / b;
  return q - ((a % b != 0) & ((a < 0) != (b < 0)));
}
static inline int64_t floor_mod_int(int64_t a, int64_t b) {
  if (b == 0 || b == -1) return 0;
  int64_t r = a % b;
  return r + (r != 0 && ((r < 0) != (b < 0)) ? b : 0);
}
static inline double floor_mod_float(double a, double b) {
  double r = fmod(a, b);
  return r != 0 ? ((r < 0) != (b < 0) ? r + b : r) : copysign(0.0, b);
}
static inline double floor_div_float(double a, double b) {
  if (b == 0) return a / b;
  double r = fmod(a, b), q = (a - r) / b;
  if (r != 0 && (r < 0) != (b < 0)) q -= 1.0;
  if (q == 0) return copysign(0.0, a / b);
  double whole = floor(q);
  return q - whole > 0.5 ? whole + 1.0 : whole;
}
static inline int64_t min_int(int64_t a, int64_t b) { return b < a ? b : a; }
static inline int64_t max_int(int64_t a, int64_t b) { return b > a ? b : a; }
static inline double min_float(double a, double b) { return b < a ? b : a; }
static inline double max_float(double a, double b) { return b > a ? b : a; }
static inline int64_t abs_int(int64_t a) { return a < 0 ? -a : a; }
"""
"""Division of integers by zero gives 0, of floats infinity; nothing that is compiled relies on it."""
CHECKED = """\
#include <stdio.h>
#include <stdlib.h>
static inline int64_t inside(int64_t i, int64_t n, const char *where) {
  if (i < 0 || i >= n) { fprintf(stderr, "%s: index %lld of %lld\\n", where, (long long)i, (long long)n); abort(); }
  return i;
}
"""
_SYMBOLS: dict[type[ast.AST], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<",
    ast.RShift: ">>", ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
}  # fmt: skip
_BITS = (ast.BitAnd, ast.BitOr, ast.BitXor, ast.LShift, ast.RShift)


def c_text(entries: list[Function], *, is_checked: bool = False) -> str:
    """C text of entries and all that they call. `is_checked`: the process ends where an index is outside of its array."""
    unit = unit_of(tuple(entries))
    writers = {f: _Writer(unit, source, f in entries, is_checked) for f, source in unit.sources.items()}
    for writer in writers.values():
        writer.find_variables()
    heads = [writer.head for writer in writers.values()]
    tuples = {k for s in unit.sources.values() if isinstance(k := s.result, Several)}
    parts = [PREAMBLE, CHECKED if is_checked else ""]
    parts += [_tuple_text(k) for k in sorted(tuples, key=tuple_name)]
    parts += [_record_text(unit, record) for record in unit.records.values()]
    parts += [f"{head};" for head in heads]
    parts += [writer.text() for writer in writers.values()]
    return "\n".join(parts) + "\n"


def tuple_name(kind: Several) -> str:
    return "several_" + "".join(p.name[0] for p in kind.parts)


def _tuple_text(kind: Several) -> str:
    return f"typedef struct {{ {' '.join(f'{p.value} part_{n};' for n, p in enumerate(kind.parts))} }} {tuple_name(kind)};"


def _record_text(unit: Unit, record: Record) -> str:
    """Each member takes eight bytes, so that Python can fill them in."""
    members: list[str] = []
    for name, kind in record.fields.items():
        if isinstance(kind, Array):
            members.append(f"{kind.c} *{name};")
            members += [f"int64_t {name}_{n};" for n in range(unit.axes_of((record.made_by, name)))]
        else:
            members.append(f"double {name};" if kind is FLOAT else f"int64_t {name};")
    return f"struct {record.made_by.__name__} {{ {' '.join(members)} }};"


class _Writer:
    """Writes one function as C."""

    def __init__(self, unit: Unit, source: Source, is_entry: bool, is_checked: bool) -> None:
        self.unit, self.source, self.is_entry, self.is_checked = unit, source, is_entry, is_checked
        self.variables: dict[str, Number] = {n: k for n, k in source.parameters.items() if isinstance(k, Number)}
        self._lines: list[str] = []
        self._made = 0
        self._stores = [n for n in source.nodes if isinstance(n, ast.For | ast.Assign | ast.AugAssign)]

    def find_variables(self) -> None:
        """Finds the types of variables: of all that is assigned, a float where some of it is."""
        waiting = True
        while waiting:
            before = dict(self.variables)
            waiting = False
            for node in self._stores:
                try:
                    self._learn(node)
                except KeyError:
                    waiting = True
            if waiting and before == self.variables:
                raise self.source.wrong(self.source.tree.args, f"types of all variables, known are {list(before)}")
            waiting = waiting or before != self.variables

    def _learn(self, node: ast.AST) -> None:
        if isinstance(node, ast.For):
            if isinstance(node.iter, ast.Tuple):
                for row in node.iter.elts:
                    for target, value in zip(_parts(node.target), _parts(row), strict=True):
                        self._join(target, self.of(value)[1])
            else:
                self._join(node.target, INT)
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                if not isinstance(target, ast.Tuple):
                    if isinstance(target, ast.Name) and not self._is_dropped(target, node.value):
                        self._join(target, self.of(node.value)[1])
                elif isinstance(node.value, ast.Tuple):
                    for one, value in zip(target.elts, node.value.elts, strict=True):
                        if isinstance(one, ast.Name) and not self._is_dropped(one, value):
                            self._join(one, self.of(value)[1])
                else:
                    for one, kind in zip(target.elts, self._several(node.value).parts, strict=True):
                        self._join(one, kind)
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            self._join(node.target, self._binary(node, node.target, node.op, node.value)[1])

    def _is_dropped(self, target: ast.Name, value: ast.expr) -> bool:
        return target.id in self.source.aliases

    def _join(self, target: ast.expr, kind: Number) -> None:
        if not isinstance(target, ast.Name):
            return
        known = self.variables.get(target.id)
        if known is None or {known, kind} == {INT, FLOAT}:
            self.variables[target.id] = kind if known is None else FLOAT
        elif known is not kind:
            raise self.source.wrong(target, f"one type of the variable ({known.name}, now {kind.name})")

    # expressions

    def of(self, node: ast.expr, *, as_condition: bool = False) -> tuple[Text, Number]:
        """Expression in C and its type. KeyError for a variable of unknown type."""
        match node:
            case ast.Constant(value=value) if isinstance(value, bool | int | float):
                return _number(value)
            case ast.Name(id=name) if name in self.source.names:
                return Text(f"v_{name}"), self.variables[name]
            case ast.Name(id=name):
                value = self.source.outside(name)
                if isinstance(value, bool | int | float):
                    return _number(value)
            case ast.Attribute(value=ast.Name(id="np"), attr="inf"):
                return _number(np.inf)
            case ast.Attribute(value=value, attr=name) if (record := self.source.record(value)) is not None:
                kind = record.fields[name]
                if isinstance(kind, Number):
                    assert isinstance(value, ast.Name)
                    text = Text(f"v_{value.id}->{name}")
                    return (binary("!=", text, decimal(0)) if kind is TRUTH else text), kind
            case ast.Subscript(value=ast.Attribute(attr="shape", value=value), slice=ast.Constant(value=int(axis))):
                return self.array(value)[1][axis], INT
            case ast.Subscript():
                return self._element(node)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return unary("!", self.of(operand, as_condition=True)[0]), TRUTH
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                text, kind = self.of(operand)
                if kind in (INT, FLOAT):
                    return unary("-", text), kind
            case ast.UnaryOp(op=ast.Invert(), operand=operand):
                text, kind = self.of(operand)
                if kind in (INT, WORD):
                    return unary("~", text), kind
            case ast.BinOp(left=left, op=op, right=right):
                return self._binary(node, left, op, right)
            case ast.BoolOp(op=op, values=values):
                parts = [self.of(v, as_condition=True)[0] for v in values]
                return chain("&&" if isinstance(op, ast.And) else "||", parts), TRUTH
            case ast.Compare():
                return self._comparison(node), TRUTH
            case ast.IfExp(test=test, body=body, orelse=orelse):
                (one, kind), (other, second) = self.of(body), self.of(orelse)
                together = self._together(node, kind, second)
                return conditional(self.of(test, as_condition=True)[0], one, other), together
            case ast.Call():
                return self._call(node)
            case _:
                pass
        raise self.source.wrong(node, "an expression of the compiled subset")

    def _together(self, node: ast.AST, one: Number, other: Number) -> Number:
        if one is other:
            return one
        if {one, other} == {INT, FLOAT}:
            return FLOAT
        raise self.source.wrong(node, f"two values of one type ({one.name} and {other.name})")

    def _binary(self, node: ast.AST, left: ast.expr, op: ast.operator, right: ast.expr) -> tuple[Text, Number]:
        (one, kind), (other, second) = self.of(left), self.of(right)
        if isinstance(op, ast.Pow):
            return self._power(node, one, kind, right)
        together = self._together(node, kind, second)
        if together is TRUTH or (isinstance(op, _BITS) and together is FLOAT):
            raise self.source.wrong(node, f"operands other than {together.name}")
        if isinstance(op, ast.FloorDiv | ast.Mod):
            if together is WORD:
                raise self.source.wrong(node, "operands other than WORD")
            name = "floor_div" if isinstance(op, ast.FloorDiv) else "floor_mod"
            return call(f"{name}_{together.name.lower()}", one, other), together
        if isinstance(op, ast.Div):
            return binary("/", cast_to("double", one), cast_to("double", other)), FLOAT
        return binary(_SYMBOLS[type(op)], one, other), together

    def _power(self, node: ast.AST, text: Text, kind: Number, exponent: ast.expr) -> tuple[Text, Number]:
        if kind is not FLOAT or not isinstance(exponent, ast.Constant) or not isinstance(exponent.value, int | float):
            raise self.source.wrong(node, "a float to a constant power")
        if exponent.value == 4:
            square = binary("*", text, text)
            return binary("*", square, square), FLOAT
        return call("pow", text, _number(float(exponent.value))[0]), FLOAT

    def _comparison(self, node: ast.Compare) -> Text:
        """A chain has side effects in none of its parts, so each may be written twice."""
        parts: list[Text] = []
        left = node.left
        for op, right in zip(node.ops, node.comparators, strict=True):
            if isinstance(op, ast.In | ast.NotIn):
                assert isinstance(right, ast.Tuple)
                each = chain("||", [self._compared(node, left, "==", one) for one in right.elts])
                parts.append(each if isinstance(op, ast.In) else unary("!", each))
            else:
                parts.append(self._compared(node, left, _SYMBOLS[type(op)], right))
            left = right
        return every(parts)

    def _compared(self, node: ast.AST, left: ast.expr, sign: str, right: ast.expr) -> Text:
        (one, kind), (other, second) = self.of(left), self.of(right)
        if kind is WORD and isinstance(right, ast.Constant) and isinstance(right.value, int) and right.value >= 0:
            return binary(sign, one, cast_to("uint64_t", other))
        self._together(node, kind, second)
        return binary(sign, one, other)

    def _call(self, node: ast.Call) -> tuple[Text, Number]:
        callee = self.source.called(node)
        if callee is not None:
            result = self.unit.sources[callee].result
            if not isinstance(result, Number):
                raise self.source.wrong(node, "a call with one result")
            return self._call_text(node, callee), result
        function = self.source.outside(node.func.id) if isinstance(node.func, ast.Name) else None
        if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
            module = self.source.outside(node.func.value.id)
            function = getattr(module, node.func.attr) if isinstance(module, ModuleType) else None
        parts = [self.of(a) for a in node.args]
        texts, kinds = [text for text, _ in parts], [kind for _, kind in parts]
        if function in (min, max):
            together = kinds[0]
            for kind in kinds[1:]:
                together = self._together(node, together, kind)
            if together in (INT, FLOAT):
                name = f"{'min' if function is min else 'max'}_{together.name.lower()}"
                found = texts[0]
                for text in texts[1:]:
                    found = call(name, found, text)
                return found, together
        elif function is abs and kinds[0] in (INT, FLOAT):
            return call("abs_int" if kinds[0] is INT else "fabs", texts[0]), kinds[0]
        elif function in _CASTS:
            kind = _CASTS[function]
            return cast_to(kind.value, texts[0]), kind
        elif function in (np.log2, log2):
            return call("log2", texts[0]), FLOAT
        elif function is np.ceil:
            return call("ceil", texts[0]), FLOAT
        raise self.source.wrong(node, "a function of the compiled subset")

    def _call_text(self, node: ast.Call, callee: Function) -> Text:
        texts: list[Text] = []
        for kind, given in zip(self.unit.sources[callee].parameters.values(), node.args, strict=True):
            if isinstance(kind, Array):
                pointer, sizes = self.array(given)
                texts += [pointer, *sizes]
            elif isinstance(kind, Record):
                assert isinstance(given, ast.Name)
                texts.append(Text(f"v_{given.id}"))
            else:
                text, found = self.of(given)
                if found is not kind and not (found is INT and kind is FLOAT):
                    raise self.source.wrong(given, f"an argument of type {kind}")
                texts.append(text)
        return call(self.unit.sources[callee].c_name, *texts)

    def _several(self, node: ast.expr) -> Several:
        callee = self.source.called(node) if isinstance(node, ast.Call) else None
        result = self.unit.sources[callee].result if callee is not None else None
        if not isinstance(result, Several):
            raise self.source.wrong(node, "a call with several results")
        return result

    # arrays

    def array(self, node: ast.expr) -> tuple[Text, list[Text]]:
        """A pointer to its first element, and the size of each axis."""
        if isinstance(node, ast.Subscript):
            pointer, sizes = self.array(node.value)
            taken = indices_of(node)
            offset = chain("*", [self._offset(node, taken, sizes), *sizes[len(taken) :]])
            return binary("+", pointer, offset), sizes[len(taken) :]
        if isinstance(node, ast.Name) and node.id in self.source.aliases:
            return self.array(self.source.aliases[node.id])
        found = self.source.array(node)
        if found is None:
            raise self.source.wrong(node, "an array")
        base = f"v_{node.id}" if isinstance(node, ast.Name) else ""
        if isinstance(node, ast.Attribute):
            assert isinstance(node.value, ast.Name)
            base = f"v_{node.value.id}->{node.attr}"
        return Text(base), [Text(f"{base}_{n}") for n in range(self.unit.axes_of(found[0]))]

    def _offset(self, node: ast.AST, indices: list[ast.expr], sizes: list[Text]) -> Text:
        offset: Text | None = None
        for index, size in zip(indices, sizes, strict=False):
            text, kind = self.of(index)
            if kind is not INT:
                raise self.source.wrong(node, "indices of type INT")
            if self.is_checked:
                text = call("inside", text, size, f'"{self.source.c_name}:{getattr(node, "lineno", 0)}"')
            offset = text if offset is None else binary("+", binary("*", offset, size), text)
        assert offset is not None
        return offset

    def _element(self, node: ast.Subscript) -> tuple[Text, Number]:
        found = self.source.array(node.value)
        if found is None:
            raise self.source.wrong(node, "an element of an array")
        pointer, sizes = self.array(node.value)
        kind = found[1].number
        text = element(pointer, self._offset(node, indices_of(node), sizes))
        return (cast_to("int64_t", text) if kind is INT and found[1].element != np.int64 else text), kind

    # statements

    @property
    def head(self) -> str:
        parameters: list[str] = []
        for name, kind in self.source.parameters.items():
            if isinstance(kind, Array):
                parameters.append(f"{kind.c} *v_{name}")
                parameters += [f"int64_t v_{name}_{n}" for n in range(self.unit.axes_of((self.source.function, name)))]
            elif isinstance(kind, Record):
                parameters.append(f"const struct {kind.made_by.__name__} *v_{name}")
            else:
                assert isinstance(kind, Number)
                parameters.append(f"{kind.value} v_{name}")
        result = self.source.result
        made = "void" if result is None else tuple_name(result) if isinstance(result, Several) else ""
        if isinstance(result, Number):
            made = result.value
        return f"{'' if self.is_entry else 'static '}{made} {self.source.c_name}({', '.join(parameters)})"

    def text(self) -> str:
        self._lines = [self.head + " {"]
        for name, kind in sorted(self.variables.items()):
            if name not in self.source.parameters:
                self._lines.append(f"{kind.value} v_{name} = 0;")
        self._block(self.source.tree.body)
        self._lines.append("}")
        return "\n".join(self._lines)

    def _block(self, body: list[ast.stmt]) -> None:
        for statement in body:
            self._statement(statement)

    def _statement(self, node: ast.stmt) -> None:
        add = self._lines.append
        match node:
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                pass
            case ast.Expr(value=ast.Call() as called) if (callee := self.source.called(called)) is not None:
                add(f"{self._call_text(called, callee).text};")
            case ast.Assign(targets=targets, value=value):
                self._assign(node, targets, value)
            case ast.AugAssign(target=target, op=op, value=value):
                text, kind = self._binary(node, target, op, value)
                self._store(node, target, text, kind)
            case ast.If(test=test, body=body, orelse=orelse):
                add(f"if ({self.of(test, as_condition=True)[0].text}) {{")
                self._block(body)
                if orelse:
                    add("} else {")
                    self._block(orelse)
                add("}")
            case ast.While(test=test, body=body, orelse=[]):
                add(f"while ({self.of(test, as_condition=True)[0].text}) {{")
                self._block(body)
                add("}")
            case ast.For(target=target, iter=items, body=body, orelse=[]):
                self._for(target, items, body)
            case ast.Return(value=None):
                add("return;")
            case ast.Return(value=ast.Tuple(elts=parts)) if isinstance(result := self.source.result, Several):
                texts = [self.of(p)[0].text for p in parts]
                add(f"return ({tuple_name(result)}){{{', '.join(texts)}}};")
            case ast.Return(value=value) if value is not None:
                text, kind = self.of(value)
                if kind is not self.source.result and not (kind is INT and self.source.result is FLOAT):
                    raise self.source.wrong(node, f"a result of type {self.source.result}")
                add(f"return {text.text};")
            case ast.Break():
                add("break;")
            case ast.Continue():
                add("continue;")
            case _:
                raise self.source.wrong(node, "a statement of the compiled subset")

    def _new(self) -> str:
        self._made += 1
        return f"made_{self._made}"

    def _assign(self, node: ast.Assign, targets: list[ast.expr], value: ast.expr) -> None:
        for target in targets:
            if isinstance(target, ast.Name) and target.id in self.source.aliases:
                continue
            if not isinstance(target, ast.Tuple):
                if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Slice):
                    self._fill(target, value)
                else:
                    self._store(node, target, *self.of(value))
                continue
            self._lines.append("{")
            if isinstance(value, ast.Tuple):
                stores: list[tuple[ast.expr, Text, Number]] = []
                for one, each in zip(target.elts, value.elts, strict=True):
                    if isinstance(one, ast.Name) and one.id in self.source.aliases:
                        continue
                    text, kind = self.of(each)
                    name = self._new()
                    self._lines.append(f"{kind.value} {name} = {text.text};")
                    stores.append((one, Text(name), kind))
                for one, name, kind in stores:
                    self._store(node, one, name, kind)
            else:
                assert isinstance(value, ast.Call)
                callee = self.source.called(value)
                assert callee is not None
                several, name = self._several(value), self._new()
                self._lines.append(f"{tuple_name(several)} {name} = {self._call_text(value, callee).text};")
                for n, (one, kind) in enumerate(zip(target.elts, several.parts, strict=True)):
                    self._store(node, one, Text(f"{name}.part_{n}"), kind)
            self._lines.append("}")

    def _store(self, node: ast.AST, target: ast.expr, text: Text, kind: Number) -> None:
        if isinstance(target, ast.Name):
            self._lines.append(f"v_{target.id} = {text.text};")
            return
        found = self.source.array(target.value) if isinstance(target, ast.Subscript) else None
        if found is None or not isinstance(target, ast.Subscript):
            raise self.source.wrong(node, "a variable or an element of an array")
        wanted = found[1].number
        if (kind is FLOAT) != (wanted is FLOAT) and not (kind is INT and wanted is FLOAT):
            raise self.source.wrong(node, f"a value of type {wanted.name}")
        pointer, sizes = self.array(target.value)
        place = element(pointer, self._offset(target, indices_of(target), sizes))
        self._lines.append(f"{place.text} = {text.text};")

    def _fill(self, target: ast.Subscript, value: ast.expr) -> None:
        pointer, sizes = self.array(target.value)
        name = self._new()
        place = element(pointer, Text(name))
        head = f"for (int64_t {name} = 0; {name} < {chain('*', sizes).text}; {name}++)"
        self._lines.append(f"{head} {place.text} = {self.of(value)[0].text};")

    def _for(self, target: ast.expr, items: ast.expr, body: list[ast.stmt]) -> None:
        add, name = self._lines.append, self._new()
        match items:
            case ast.Call(func=ast.Name(id="range"), args=arguments) if isinstance(target, ast.Name):
                texts = [self.of(a)[0].text for a in arguments]
                begin, end = ("0", texts[0]) if len(texts) == 1 else (texts[0], texts[1])
                step = texts[2] if len(texts) == 3 else "1"
                is_down = len(texts) == 3 and isinstance(arguments[2], ast.UnaryOp)
                add(f"for (int64_t {name} = {begin}, {name}_end = {end}; {name} {'>' if is_down else '<'} {name}_end; ")
                add(f"{name} += {step}) {{ v_{target.id} = {name};")
                self._block(body)
                add("}")
            case ast.Tuple(elts=rows):
                targets = _parts(target)
                columns = [[self.of(v) for v in _parts(row)] for row in rows]
                for n, one in enumerate(targets):
                    assert isinstance(one, ast.Name)
                    kind = self.variables[one.id].value
                    add(f"{kind} {name}_{n}[] = {{{', '.join(c[n][0].text for c in columns)}}};")
                add(f"for (int64_t {name} = 0; {name} < {len(rows)}; {name}++) {{")
                for n, one in enumerate(targets):
                    assert isinstance(one, ast.Name)
                    add(f"v_{one.id} = {name}_{n}[{name}];")
                self._block(body)
                add("}")
            case _:
                raise self.source.wrong(items, "a range, or a tuple")


_CASTS: dict[Any, Number] = {int: INT, float: FLOAT, np.int64: INT, np.uint64: WORD}


def _parts(node: ast.expr) -> list[ast.expr]:
    return list(node.elts) if isinstance(node, ast.Tuple) else [node]


def _number(value: bool | int | float) -> tuple[Text, Number]:
    if isinstance(value, bool):
        return Text("true" if value else "false"), TRUTH
    if isinstance(value, float):
        return exact_double(value), FLOAT
    if not -(1 << 63) <= value < 1 << 64:
        raise TypeError(f"expected a constant of 64 bits, got {value}")
    return integer(value, 64), INT
