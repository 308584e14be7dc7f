"""The language of Telamon's paper as text: its meaning against all assignments, and what is wrong in it, at its place."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from warploom.core import UserError
from warploom.solve import search
from warploom.solve.notation import broken, decisions_of, declare, parse, read

EXAMPLES = Path(__file__).parents[3] / "examples" / "papers" / "telamon"
_BASE = "set A: ...\nset D subsetof A: ...\nchoice enum k($a in A):\n  value X:\n  value Y:\nend\n"
_TEXTS = {
    "values": 'require forall $a in A: "$a.free()" || k($a) is X\nkernel n: A = x, y x.free = true end',
    "not": 'require forall $a in A: !"$a.busy" || k($a) is not X\nkernel n: A = x, y y.busy = true end',
    "equal choices": "choice enum l($a in A): value X: value Y: end\n"
    "require forall $a in A: k($a) == l($a)\nkernel n: A = x, y end",
    "other choices": "require forall $a in A: forall $b in D: k($a) != k($b)\nkernel n: A = x D = y end",
    "sums": "choice counter c(): forall $a in A: sum \"$a.w\" when k($a) is X end\nrequire c() < 7\n"
    "kernel n: A = x, y, z x.w = 3 y.w = 4 z.w = 5 end",
    "products of owners": 'choice integer s($d in D): "$d.sizes()" end set O: ... set T($o in O) subsetof D: ...\n'
    "choice counter c($o in O): forall $d in T($o): mul s($d) end\nrequire forall $o in O: c($o) <= 6\n"
    "kernel n: O = o, p T(o) = x, y T(p) = y x.sizes = 2, 3 y.sizes = 2, 4 end",
    "integers": 'choice integer s($a in A): "$a.sizes" end\nrequire forall $a in A: forall $b in A: s($a) != s($b) || 2 < s($a)\n'
    "kernel n: A = x, y x.sizes = 4, 2, 2 y.sizes = 1, 2, 4 end",
    "order": "choice enum o($a in A, $b in A): value BEFORE: value AFTER: value SAME: antisymmetric: BEFORE -> AFTER end\n"
    "require forall $a in A: forall $b in A: forall $c in A: o($a, $b) is not BEFORE || o($b, $c) is not BEFORE || "
    "o($a, $c) is BEFORE\nkernel n: A = x, y, z o(y, x) is BEFORE | SAME end",
    "quotient": "choice enum o($a in A, $b in A): value SAME: value OTHER: symmetric end\n"
    "quotient Q of $d in A: first = k($d) is X / o is SAME ... end\n"
    "quotient P($q in A) of $d in D: f = o($q, $d) is SAME / o is SAME "
    "end\nchoice counter c(): forall $d in Q: sum 1 end\nrequire c() <= 1\nkernel n: A = x, y D = z end",
    "one name in two sets": "set L: ...\nrequire forall $l in L: forall $a in A: k($a) is X\nkernel n: L = x A = x end",
    "aliases": "choice enum l($a in A): value P: value Q: value R: alias PQ = P | Q: end\n"
    "require forall $a in A: l($a) is PQ || k($a) is X\nrequire forall $a in A: true\nkernel n: A = x, y end",
    "two conditions": "choice counter c(): forall $a in A: sum 1 when: k($a) is X && \"$a.w\" end\nrequire c() <= 0\n"
    "kernel n: A = x, y y.w = true end",
    "codes of two": 'require forall $a in A: forall $b in A: !"$a.next($b)" || k($a) is X || k($b) is Y || false\n'
    "kernel n: A = x, y, z x.next(y) = true \"z.next(x)\" = true end",
}  # fmt: skip


@pytest.mark.parametrize("text", _TEXTS.values(), ids=_TEXTS)
def test_the_implementations_are_all_assignments_that_meet_the_words(text: str) -> None:
    """The meaning is read from the words; `Space` and its engine take no part in it."""
    description = parse(_BASE + text)
    (kernel,) = description.kernels
    made = decisions_of(declare(description), kernel)
    outcome = search(made, goal="all")
    found = [tuple(answer[key] for key in made.choices) for _, answer in outcome.answers]
    universes = [made.instance.universe(name, *objects) for name, objects in made.choices]
    wanted = [v for v in product(*universes) if not broken(description, kernel, dict(zip(made.choices, v, strict=True)))]
    assert outcome.complete and sorted(found) == sorted(wanted) and 0 < len(wanted) < len(list(product(*universes)))


@pytest.mark.parametrize(("name", "count"), [("outer_product", 6), ("memory", 4 * 3 * 4 * 3 + 4 * 3), ("dimensions", 186)])
def test_the_listings(name: str, count: int) -> None:
    description = read(EXAMPLES / f"{name}.choices")
    (kernel,) = description.kernels
    answers = search(decisions_of(declare(description), kernel), goal="all").answers
    assert len(answers) == count and not any(broken(description, kernel, answer) for _, answer in answers)


def test_listing_8_is_two_of_the_implementations() -> None:
    """`IterationDims`: the dimensions around each instruction."""
    description = read(EXAMPLES / "outer_product.choices")
    (kernel,) = description.kernels
    made = decisions_of(declare(description), kernel)
    nestings = [
        {f"{i}: " + " ".join(d for d in ("d_m", "d_n") if a["is_outer_dim", (i, d)] == "TRUE") for i in "abcs"}
        | {f"outer {a['order', ('d_m', 'd_n')]}"}
        for _, a in search(made, goal="all").answers
    ]  # fmt: skip
    inner = {"c: d_m d_n", "s: d_m d_n"}
    assert {"a: d_m", "b: d_m d_n", "outer OUTER"} | inner in nestings
    assert {"a: d_m d_n", "b: d_n", "outer INNER"} | inner in nestings


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("", "1:1", "got an empty text"),
        ("foo", "1:1", "expected set, choice, quotient, require or kernel, got 'foo'"),
        ("set A:", "1:7", "expected `end`"),
        ("set A: x = 4 end", "1:12", "expected code or `...`, got '4'"),
        ("set A: ...\nset B subsetof C: ...", "2:16", "expected a set that is declared before, got C"),
        (_BASE + "set A: ...", "7:5", "declared already"),
        (_BASE + "choice enum j($a in A): ...", "7:13", "expected values of choice j, got none"),
        (_BASE + "choice enum j($a in A): value P: alias Q = R: end", "7:44", "expected an alias of values (P), got Q = R"),
        (_BASE + "choice table j($a in A): end", "7:8", "expected enum, integer or counter after `choice`, got 'table'"),
        (_BASE + 'choice integer j($a in A): "$b.n" end', "7:28", "expected objects of j in code ($a), got $b"),
        (_BASE + "choice counter c(): forall $a in A: max 1 end", "7:37", "expected sum or mul, got 'max'"),
        (_BASE + "choice counter c(): forall $a in A: sum k($a) end", "7:41", "expected a counter or integer choice, got k"),
        (_BASE + "quotient Q of $d in D: f = k($d) / k is X end", "7:34", "expected `is` or a comparison after k, got '/'"),
        (_BASE + "quotient Q($a in A, $b in A) of $d in D: f = k($d) is X / k is X end", "7:21", "at most one owner, got 2"),
        (_BASE + "quotient Q of $d in D: f = k($d) is X / true end", "7:24", "expected a value of a choice as the relation of Q"),
        (_BASE + "trigger forall $a in A: true", "7:1", "got a trigger, which is host code"),
        (_BASE + "require k($a) is X", "7:11", "expected an object after `forall`, got $a"),
        (_BASE + "require forall $a in A: forall $a in A: true", "7:32", "expected a new object, got $a again"),
        (_BASE + "require forall $a A: true", "7:19", "expected `in` after $a"),
        (_BASE + "require forall $a in A: k($a) is Z", "7:34", "expected a value of choice k, got Z"),
        (_BASE + "require forall $a in A: j($a) is X", "7:25", "expected an enum choice, got j"),
        (_BASE + "require forall $a in A: k($a) < k($a)", "7:25", "expected == or != between choices of the same values"),
        (_BASE + "require forall $a in A: k($a) < 3", "7:25", "expected a counter or integer choice, got k"),
        (_BASE + "require forall $a in A: 3 < 4", "7:25", "got numbers on both sides"),
        (_BASE + "require forall $a in A: false", "7:1", "expected conditions of which one can hold, got false"),
        (_BASE + 'require forall $a in A: "$a.ok', "7:25", "got '\"'"),
        (_BASE + "require forall $a in A: 1234567890123456789 < 4", "7:25", "expected a number of at most 18 digits, got 19"),
        (_BASE + "choice counter c(): forall $a in A: sum 1 when k($a) == k($a) end", "7:48", "expected a value of a choice"),
        (_BASE + "choice enum j($q in T($a)): value X: end", "7:21", "expected a plain set of a choice"),
    ],
)  # fmt: skip
def test_wrong_descriptions(text: str, place: str, message: str) -> None:
    with pytest.raises(UserError) as raised:
        declare(parse(text, "F"))
    (diagnostic,) = raised.value.diagnostics
    assert message in diagnostic.message and str(diagnostic.span) == f"F:{place}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kernel n: B = x end", "expected a set (A, D), got B"),
        ("kernel n: A(x) = x end", "expected A, got A"),
        ("kernel n: A = x z.q = 4 end", "expected code of the description (none), got 'z.q'"),
        ("kernel n: A = x z.q($d) = 4 end", "expected code about objects of the kernel, got $d"),
        ("kernel n: A = x k(z) is X end", "expected an object of A, got 'z'"),
        ("kernel n: A = x k(x) is Q end", "expected a value of choice k (X, Y), got Q"),
        ("kernel n: A = x j(x) is Q end", "expected an enum choice to decide in kernel n, got j"),
        ("kernel n: A = x", "expected `end` of the kernel"),
        ("kernel n: A(x, y) = z end", "expected one owner of A, got 2"),
        ('require forall $a in A: "$a.ok" || k($a) is X kernel n: A = x end', "to say what '$a.ok' is, got nothing"),
        ('require forall $a in A: "$a.ok" || k($a) is X kernel n: A = x x.ok = 3 end', "expected true or false for 'x.ok'"),
        ('require forall $a in A: "$a.ok" || k($a) is X kernel n: A = x x.ok = true x.ok = true end', "got a second one"),
        ('choice integer s($a in A): "$a.s()" end kernel n: A = x end', "to say what 'x.s' is, got nothing"),
        ('choice integer s($a in A): "$a.s()" end kernel n: A = x x.s = true end', "expected numbers for 'x.s'"),
        ('choice counter c(): forall $a in A: sum "$a.w" end kernel n: A = x x.w = 1, 2 end', "expected one number for 'x.w'"),
    ],
)
def test_wrong_kernels(text: str, message: str) -> None:
    with pytest.raises(UserError) as raised:
        description = parse(_BASE + text, "F")
        decisions_of(declare(description), description.kernels[0])
    (diagnostic,) = raised.value.diagnostics
    assert message in diagnostic.message and diagnostic.span.line > 0


@pytest.mark.parametrize(
    ("values", "what"),
    [
        ({"k": "Y", "first": "FALSE"}, "the requirement in line 7 for x"),
        ({"first": "FALSE"}, "first(x)"),
        ({"k": "Y", "first": "FALSE"}, "what kernel n decides of k"),
    ],
)
def test_words_that_an_assignment_breaks(values: dict[str, str], what: str) -> None:
    decided = "k(x) is X" if what.startswith("what") else ""
    text = "require forall $a in D: k($a) is X\nquotient Q of $d in A: first = k($d) is X / k is X end\n"
    description = parse(f"{_BASE}{text}kernel n: D = x {decided} end")
    found = {"k": "X", "first": "TRUE"} | values
    assert broken(description, description.kernels[0], {(name, ("x",)): value for name, value in found.items()}) == what
