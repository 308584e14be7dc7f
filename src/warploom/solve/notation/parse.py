"""Reads a description: the notation of the listings of Telamon's paper, and kernels.

    set Dimensions subsetof Statements: ... end          choice counter threads():
    set Tiles($l in Logical) subsetof Dimensions: ...      forall $d in ThreadDims:
    choice enum order($a in Statements, $b in ...):          mul size($d) when kind($d) is THREAD
      value BEFORE:                                      end
      value AFTER:                                       quotient ThreadDims of $d in Dimensions:
      antisymmetric: BEFORE -> AFTER                       is_thread = kind($d) is THREAD / order is MERGED
    end                                                  end
    choice integer size($d in Dimensions):               require forall $a in Statements:
      "$d.sizes()"                                         order($a, $b) is BEFORE || "$a.is_free" || ...
    end

    kernel copy:
      Statements = load, store, d                        objects of a set
      Tiles(l) = d                                       objects of a set of an owner
      d.sizes = 2, 4                                     what code is for these objects
      order(d, load) is OUTER                            decided from the start
    end

`...` stands for what a listing leaves out: fields of sets, which only concern the host; a choice that leaves out its values is
defined elsewhere in the text. A set or choice without a body but `...` needs no `end`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Literal, TypeVar

from warploom.core.inputs import read_text_file
from warploom.core.tokens import Cursor, Token, tokens, wrong
from warploom.solve.notation.tree import (
    Applied,
    Code,
    Compared,
    Condition,
    Constant,
    Counter,
    Description,
    Enum,
    Given,
    Holds,
    Integer,
    Is,
    Kernel,
    Member,
    Name,
    Number,
    Over,
    Quantity,
    Quotient,
    Require,
    SetOf,
)

_T = TypeVar("_T")
_TOKEN = re.compile(
    r"""(?P<blank>\s+|//[^\n]*)|(?P<code>"[^"\n]*")|(?P<object>\$\s?[A-Za-z_]\w*)|(?P<name>[A-Za-z_]\w*)|(?P<number>\d+)"""
    r"""|(?P<sign>\.\.\.|->|\|\||&&|==|!=|<=|>=|[<>=():,|!/.])"""
)
_FIXES = {'"': 'Close the code on its line: "$dim.size()".'}
_SIGNS = ("==", "!=", "<=", ">=", "<", ">")
_ITEMS = ("set", "choice", "quotient", "require", "kernel")


def read(path: str | Path) -> Description:
    """The description in a file. Raises UserError."""
    return parse(read_text_file(path, "a description of choices"), str(path))


def parse(text: str, file: str = "<text>") -> Description:
    """Raises UserError at the first place where it is no description."""
    return _Parser(tokens(text, file, _TOKEN, "a name, a number, code or a sign", _FIXES)).description()


class _Parser(Cursor):
    @property
    def _is_at_end(self) -> bool:
        return self._next.kind == "end"

    def _named(self, what: str, kind: str = "name") -> Name:
        token = self._word(what, kind)
        return Name(re.sub(r"\s", "", token.text) if kind == "object" else token.text, token.span)

    def _separated(self, part: Callable[[], _T], sign: str) -> tuple[_T, ...]:
        found = [part()]
        while self._taken(sign):
            found.append(part())
        return tuple(found)

    def description(self) -> Description:
        sets: list[SetOf] = []
        choices: list[Enum | Integer] = []
        counters: list[Counter] = []
        quotients: list[Quotient] = []
        requirements: list[Require] = []
        kernels: list[Kernel] = []
        if self._is_at_end:
            raise wrong(self._next.span, "expected a description, got an empty text", "Begin with a set: set Instructions: ...")
        while not self._is_at_end:
            start = self._next
            if self._taken("set"):
                sets.append(self._set())
            elif self._taken("choice"):
                kind = self._named("enum, integer or counter after `choice`")
                match kind.text:
                    case "enum":
                        choices.append(self._enum())
                    case "integer":
                        choices.append(self._integer())
                    case "counter":
                        counters.append(self._counter())
                    case _:
                        raise wrong(kind.span, f"expected enum, integer or counter after `choice`, got {kind.text!r}")
            elif self._taken("quotient"):
                quotients.append(self._quotient())
            elif self._taken("require"):
                requirements.append(self._require(start))
            elif self._taken("kernel"):
                kernels.append(self._kernel())
            elif self._is("trigger"):
                message = "expected sets, choices, counters, quotients and requirements, got a trigger, which is host code"
                raise wrong(start.span, message, "Use warploom.solve.space from Python for what adds objects.", "SPACE")
            else:
                raise wrong(
                    start.span, f"expected {', '.join(_ITEMS[:-1])} or {_ITEMS[-1]}, got {start.shown}", "Begin with one of them."
                )
        return Description(
            tuple(sets), tuple(choices), tuple(quotients), tuple(counters), tuple(requirements), tuple(kernels)
        )  # fmt: skip

    def _over(self, *, in_is_optional: bool = False) -> Over:
        name = self._named("an object such as $dim", "object")
        if not self._taken("in") and not in_is_optional:
            raise wrong(self._next.span, f"expected `in` after {name}, got {self._next.shown}", f"Write: {name} in Dimensions")
        chosen = self._named("a set")
        owner = None
        if self._taken("("):
            owner = self._named("an object such as $dim", "object")
            self._expect(")")
        return Over(name, chosen, owner)

    def _parameters(self) -> tuple[Over, ...]:
        if not self._taken("("):
            return ()
        found = () if self._is(")") else self._separated(self._over, ",")
        self._expect(")")
        return found

    def _owner(self) -> Over | None:
        parameters = self._parameters()
        if len(parameters) > 1:
            raise wrong(
                parameters[1].name.span, f"expected at most one owner, got {len(parameters)}", "Use a set for each.", "SPACE"
            )
        return parameters[0] if parameters else None

    def _ends(self, is_elided: bool) -> bool:
        """Whether the body is at its end: `end`, or, after nothing but `...`, the next item."""
        if self._taken("end"):
            return True
        is_next = self._next.kind == "end" or (self._next.text in _ITEMS and self._next.kind == "name")
        if is_next and not is_elided:
            raise wrong(self._next.span, f"expected `end`, got {self._next.shown}", "Close the body with `end`.")
        return is_next

    def _set(self) -> SetOf:
        name = self._named("the name of a set")
        owner = self._owner()
        within = self._named("a set after `subsetof`") if self._taken("subsetof") else None
        self._expect(":")
        disjoint: tuple[Name, ...] = ()
        is_elided = False
        while not self._ends(is_elided):
            if self._taken("..."):
                is_elided = True
            elif self._is("disjoint"):
                self._take()
                self._expect(":")
                disjoint += self._separated(lambda: self._named("a set"), ",")
            else:
                self._named("a field of the set, `disjoint`, `...` or `end`")
                self._expect("=")
                if not self._taken("..."):
                    self._named("code or `...`", "code")
        return SetOf(name, owner, within, disjoint)

    def _enum(self) -> Enum:
        name = self._named("the name of a choice")
        over = self._parameters()
        self._expect(":")
        values: list[Name] = []
        aliases: dict[str, tuple[Name, ...]] = {}
        mirror: dict[str, str] | None = None
        is_symmetric = is_elided = False
        while not self._ends(is_elided and not values):
            if self._taken("..."):
                is_elided = True
            elif self._taken("value"):
                values.append(self._named("the name of a value"))
                self._expect(":")
            elif self._taken("alias"):
                alias = self._named("the name of an alias")
                self._expect("=")
                aliases[alias.text] = self._separated(lambda: self._named("a value"), "|")
                self._expect(":")
            elif self._taken("symmetric"):
                self._taken(":")
                is_symmetric = True
            elif self._taken("antisymmetric"):
                self._expect(":")
                mirror = {} if mirror is None else mirror
                while self._is("->", 1):
                    first = self._named("a value")
                    self._expect("->")
                    mirror[first.text] = self._named("a value").text
            else:
                raise wrong(
                    self._next.span,
                    f"expected value, alias, symmetric, antisymmetric or `end`, got {self._next.shown}",
                    "Write: value NAME:",
                )
        return Enum(name, over, tuple(values), aliases, mirror, is_symmetric)

    def _integer(self) -> Integer:
        name = self._named("the name of a choice")
        over = self._parameters()
        self._expect(":")
        values = self._code()
        self._expect("end")
        return Integer(name, over, values)

    def _foralls(self) -> tuple[Over, ...]:
        found: list[Over] = []
        while self._taken("forall"):
            found.append(self._over())
            self._expect(":")
        return tuple(found)

    def _counter(self) -> Counter:
        name = self._named("the name of a counter")
        of = self._parameters()
        self._expect(":")
        over = self._foralls()
        kind = self._named("sum or mul")
        kinds: dict[str, Literal["sum", "mul"]] = {"sum": "sum", "mul": "mul"}
        if kind.text not in kinds:
            raise wrong(kind.span, f"expected sum or mul, got {kind.text!r}", "Write: sum size($dim) when ...")
        value = self._quantity()
        when: tuple[Condition, ...] = ()
        if self._taken("when"):
            self._taken(":")
            when = self._separated(self._condition, "&&")
        self._expect("end")
        return Counter(name, of, over, kinds[kind.text], value, when)

    def _quotient(self) -> Quotient:
        name = self._named("the name of a set")
        owner = self._owner()
        self._expect("of")
        of = self._over(in_is_optional=True)
        self._expect(":")
        flag = self._named("the name of the choice that says who is a member")
        self._expect("=")
        when = self._separated(self._condition, "&&")
        self._expect("/", "Write the relation after /: ... / order is MERGED")
        by = self._condition(is_property=True)
        if not isinstance(by, Is):
            raise wrong(flag.span, f"expected a value of a choice as the relation of {name}", "Write: / order is MERGED", "SPACE")
        while not self._taken("end"):
            if not self._taken("..."):
                self._named("a field, `...` or `end`")
                self._expect("=")
                self._named("code", "code")
        return Quotient(name, owner, of, flag, when, by)

    def _require(self, start: Token) -> Require:
        over = self._foralls()
        conditions = self._separated(self._condition, "||")
        return Require(over, conditions, start.span)

    def _code(self) -> Code:
        token = self._next
        found = self._named('code such as "$dim.size()"', "code")
        return Code(found.text[1:-1], token.span)

    def _quantity(self) -> Quantity:
        match self._next.kind:
            case "code":
                return self._code()
            case "number":
                token = self._take()
                return Number(int(token.text), token.span)
            case _:
                return self._applied(self._named("a choice, a counter, a number or code"), "object")

    def _applied(self, name: Name, kind: str) -> Applied:
        self._expect("(", f"Write the objects of {name}: {name}($dim)")
        objects = () if self._is(")") else self._separated(lambda: self._named("an object", kind), ",")
        self._expect(")")
        return Applied(name, objects)

    def _condition(self, *, is_property: bool = False) -> Condition:
        if self._is("true") or self._is("false"):
            return Constant(self._take().text == "true")
        if self._taken("!"):
            return Holds(self._code(), False)
        if is_property and self._next.kind == "name" and self._is("is", 1):
            return self._is_value(self._named("a choice"), None)
        start = self._next
        left = self._quantity()
        if self._next.text in _SIGNS:
            sign = self._take().text
            return Compared(left, sign, self._quantity(), start.span)
        match left:
            case Code():
                return Holds(left, True)
            case Applied() if self._is("is"):
                return self._is_value(left.name, left.objects)
            case _:
                fix = f"Write which value: {start.text}(...) is VALUE" if isinstance(left, Applied) else "Compare it."
                raise wrong(self._next.span, f"expected `is` or a comparison after {start.text}, got {self._next.shown}", fix)

    def _is_value(self, choice: Name, objects: tuple[Name, ...] | None) -> Is:
        self._expect("is")
        expected = not self._taken("not")
        return Is(choice, objects, self._separated(lambda: self._named("a value"), "|"), expected)

    def _kernel(self) -> Kernel:
        name = self._named("the name of a kernel")
        self._expect(":")
        members: list[Member] = []
        given: list[Given] = []
        decided: list[Is] = []
        while not self._taken("end"):
            if self._next.kind == "end":
                raise wrong(
                    self._next.span, "expected `end` of the kernel, got the end of the text", "Close the kernel with `end`."
                )
            start = self._next
            left = self._left_side()
            if isinstance(left, Applied) and self._is("is"):
                decided.append(self._is_value(left.name, left.objects))
                continue
            self._expect("=", "Write: SET = objects, code = number, or choice(objects) is VALUE.")
            if isinstance(left, Code):
                given.append(Given(left, self._values()))
                continue
            if len(left.objects) > 1:
                raise wrong(
                    start.span, f"expected one owner of {left.name}, got {len(left.objects)}", "Write: SET(owner) = objects"
                )
            objects = self._separated(lambda: self._named("an object"), ",")
            members.append(Member(left.name, left.objects[0] if left.objects else None, objects))
        return Kernel(name, tuple(members), tuple(given), tuple(decided))

    def _left_side(self) -> Applied | Code:
        """A set, a set of an owner, a choice for objects, or code about objects."""
        if self._next.kind == "code":
            return self._code()
        first = self._named("a set, a choice, code or `end`")
        left = self._applied(first, "name") if self._is("(") else Applied(first, ())
        if not self._is("."):
            return left
        text = first.text + (f"({','.join(map(str, left.objects))})" if left.objects else "")
        while not self._is("=") and self._next.kind not in ("end", "code"):
            text += self._take().text
        return Code(text, first.span)

    def _values(self) -> tuple[int, ...] | bool:
        if self._is("true") or self._is("false"):
            return self._take().text == "true"
        return self._separated(lambda: int(self._named("a number, true or false", "number").text), ",")
