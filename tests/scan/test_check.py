"""Associativity of a user's function: proved, or refused with a counterexample that the function itself shows."""

from __future__ import annotations

import math
from contextlib import nullcontext
from dataclasses import replace
from importlib import import_module

import pytest

from warploom.core import UserError
from warploom.scan import Checked, check, parse_module, read_binary, user_function
from warploom.scan.operators import checking
from warploom.scan.operators.prover import Fails, Open
from warploom.scan.tasks import accepted_module, refused_module


def checked(text: str, name: str = "op") -> Checked:
    module = parse_module(text, "op.py")
    return check(read_binary(module, name), user_function(module, name))


@pytest.mark.parametrize("name", refused_module().functions)
def test_refused_with_a_replayed_counterexample(name: str) -> None:
    module = refused_module()
    function = user_function(module, name)
    result = check(read_binary(module, name), function)
    assert (result.status, result.verdict) == ("refused", "refuted")
    assert result.witness is not None
    a, b, c = result.witness.values
    assert function(function(a, b), c) != function(a, function(b, c))


QUICK = ["affine_maps", "matrices_mod_p", "softmax", "segmented_sum", "brackets", "permutations", "bitwise_select", "clamp_maps"]


@pytest.mark.parametrize("name", QUICK)
def test_accepted(name: str) -> None:
    module = accepted_module()
    result = check(read_binary(module, name), user_function(module, name))
    assert (result.status, result.verdict) == ("solved", "proved")


def test_identity_is_found() -> None:
    assert checked("def op(a, b):\n    return max(a, b)\n").identity == float("-inf")
    assert checked("def op(f: tuple[int, int], g: tuple[int, int]):\n    return f[0] * g[0], f[1] * g[0] + g[1]\n").identity == (
        1,
        0,
    )
    assert not checked("def op(a, b):\n    return a\n").has_identity


def test_floats_round_though_reals_do_not() -> None:
    result = checked("def op(a: float, b: float):\n    return a + b\n")
    assert (result.verdict, result.domain) == ("proved", "reals")
    assert result.machine is not None
    assert result.machine.associative == "refuted"
    assert result.machine.witness is not None
    assert result.machine.witness.left != result.machine.witness.right


def test_words_wrap_though_integers_do_not() -> None:
    text = "def op(a, b):\n    (n, m), (k, l) = a, b\n    return max(n + l, k), m + l\n"
    module = parse_module(text)
    result = check(read_binary(module, "op"), user_function(module, "op"))
    assert (result.verdict, result.domain) == ("proved", "integers")
    assert result.machine is not None
    assert result.machine.associative == "refuted"


def test_assertions_say_which_values_are_meant() -> None:
    free = "def op(a, b):\n    return min(a + b, 255)\n"
    assert checked(free).status == "refused"
    bounded = "def op(a, b):\n    assert 0 <= a and 0 <= b\n    return min(a + b, 255)\n"
    assert checked(bounded).verdict == "proved"
    leaving = "def op(a, b):\n    assert 0 <= a <= 9 and 0 <= b <= 9\n    return a + b\n"
    assert checked(leaving).reason.startswith("the result breaks an assertion: with a = ")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def op(a):\n    return a\n", r"op\.py:1:1: error\[ARGUMENTS\]: expected a function of two values, got 1 parameters"),
        ("def op(a, b):\n    return a, b\n", r"op\.py:1:1: error\[SHAPE\]: expected a result of the operands' shape"),
        ("def op(a, b):\n    pass\n", r"op\.py:1:1: error\[NO_RESULT\]: expected op to return a value"),
    ],
)
def test_errors(text: str, message: str) -> None:
    with pytest.raises(UserError, match="^" + message):
        checked(text)


GCD = "from math import gcd\ndef op(a, b):\n    {0}\n    return gcd(a, b)\n"


@pytest.mark.parametrize("asserted", ["assert a > 0", "assert a > 0 and b > 0", "assert a >= 1\n    assert b >= 1"])
def test_a_right_operator_with_assertions_is_not_refused(asserted: str) -> None:
    assert checked(GCD.format(asserted)).verdict == "proved"


def test_a_witness_of_assertions_breaks_them_on_the_function() -> None:
    found = checked(GCD.format("assert a > 1"))
    assert found.status == "refused"
    a, b = (int(p.split(" = ")[1]) for p in found.reason.partition("with ")[2].split(", "))
    assert a > 1 and b > 1 and math.gcd(a, b) == 1


def test_assertions_that_are_neither_kept_nor_broken_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checking, "decide", lambda *_: Open("given up"))
    found = checked("def op(a, b):\n    assert a > 0\n    return max(a, b)\n")
    assert (found.status, found.verdict) == ("unknown", "unchecked")
    assert found.reason == "neither proved nor refuted that results are such values as are meant: given up"


def test_assertions_about_words_of_bits() -> None:
    bits = checked("def op(a, b):\n    assert 0 <= a <= 255\n    return a | b\n")
    assert (bits.verdict, bits.domain) == ("proved", "64-bit words")


@pytest.mark.parametrize("bound", ["0.1", "0", "0.9"])
def test_assertions_about_words_of_bits_may_name_a_fraction(bound: str) -> None:
    result = checked(f"def op(a: int, b: int):\n    assert -128 <= b <= {bound}\n    return a & b\n")
    assert (result.verdict, result.domain) == ("proved", "64-bit words")


def test_reals_among_words_are_unknown() -> None:
    text = (
        "def op(f: tuple[int, float], g: tuple[int, float]):\n    assert g[0] <= g[1]\n    return f[0] & g[0], max(f[1], g[1])\n"
    )
    result = checked(text)
    assert (result.status, result.verdict) == ("unknown", "unchecked")
    assert "got 64-bit word and real" in result.reason or "got real and 64-bit word" in result.reason


def test_rounding_refuses_no_operator() -> None:
    """Whole multiples of a tenth: the results differ by rounding where a comparison is close."""
    text = "def op(a: float, b: float):\n    return a if a * 0.1 > b * 0.1 else b\n"
    assert checked(text).verdict == "proved"
    found = checked("def op(a: float, b: float):\n    return 0.5 * a + 0.5 * b\n")
    assert found.status == "refused" and found.witness is not None and found.witness.left != found.witness.right


def test_a_reading_that_differs_from_the_function_is_a_bug() -> None:
    module = parse_module("def op(a, b):\n    return a - b\n")
    found = check(read_binary(module, "op"), lambda a, b: a + b)  # type: ignore[operator]
    assert (found.status, found.verdict) == ("error", "unchecked")
    assert found.reason.startswith("a bug of Warploom: the operator as it was read is not associative with a = ")


def test_a_function_that_raises_shows_nothing() -> None:
    def raises(a: object, b: object) -> object:
        raise ValueError

    module = parse_module("def op(a, b):\n    return a - b\n")
    found = check(read_binary(module, "op"), raises)
    assert (found.status, found.verdict) == ("unknown", "unchecked")


def test_only_values_that_are_meant_are_witnesses() -> None:
    module = parse_module("def op(a, b):\n    assert a >= 0\n    return a - b\n")
    binary = read_binary(module, "op")
    plain = lambda a, b: a - b  # type: ignore[operator]  # noqa: E731
    assert checking._left_by(binary, plain, (1,), (2,)) is not None
    assert checking._left_by(binary, plain, (-1,), (2,)) is None and checking._left_by(binary, plain, (3,), (-2,)) is None
    assert checking._reading_differs(binary, [(9,), (4,), (3,)])
    assert not checking._reading_differs(binary, [(-1,), (-3,), (-2,)])


def test_what_only_rounding_shows_is_no_witness() -> None:
    text = "def op(a: float, b: float):\n    return 0.0 if (a + 0.1) + 0.2 == a + 0.3 else a - b\n"
    module = parse_module(text)
    function = user_function(module, "op")
    assert function(function(0.0, 0.0), 1.0) != function(0.0, function(0.0, 1.0))
    assert checking._differs(read_binary(module, "op"), function, [(0,), (0,), (1,)]) is None


def test_what_raises_shows_no_difference() -> None:
    """Neither of the reading nor of the function: values are meant, and nothing comes of them."""
    module = parse_module("def op(a: float, b: float):\n    assert b != 0\n    return a / b\n")
    binary = read_binary(module, "op")
    assert not checking._reading_differs(replace(binary, assumed=()), [(1,), (0,), (3,)])

    def raises(a: object, b: object) -> object:
        raise ValueError

    assert checking._left_by(binary, raises, (1,), (2,)) is None and not checking._runs(binary, raises, [(1,), (2,), (3,)])


def test_a_function_that_does_not_run_on_fractions_shows_no_difference() -> None:
    module = parse_module("def op(a: float, b: float):\n    return a - b\n")

    def of_floats(a: float, b: float) -> float:
        return float.fromhex(a.hex()) - b

    assert checking._differs(read_binary(module, "op"), of_floats, [(1,), (2,), (3,)]) is None  # type: ignore[arg-type]


def test_bits_that_are_not_associative(monkeypatch: pytest.MonkeyPatch) -> None:
    """The counterexample of one bit is one of words with all bits alike."""
    module = parse_module("def op(a, b):\n    return (a ^ -1) & b\n")
    function, binary = user_function(module, "op"), read_binary(module, "op")
    monkeypatch.setattr(checking, "_searched", lambda *_: None)
    found = check(binary, function)
    assert (found.status, found.domain) == ("refused", "integers, bit by bit") and found.witness is not None
    assert {*found.witness.values} <= {0, -1}
    assert isinstance(checking._by_bits(binary), Fails)


@pytest.mark.parametrize(
    "text",
    [
        "def op(a: bool, b: bool):\n    return a or b\n",
        "def op(a, b):\n    return a & b\n",
        "def op(a, b):\n    return a | b | 1\n",
    ],
)
def test_nothing_is_said_of_words_where_nothing_wraps(text: str) -> None:
    found = checked(text)
    assert found.verdict == "proved" and found.machine is None


def test_what_the_solver_leaves_open_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checking, "associativity", lambda *_: Open("given up"))
    found = checked("def op(a, b):\n    return a + b\n")
    assert (found.status, found.verdict, found.reason) == ("unknown", "unchecked", "neither proved nor refuted: given up")


LISTED = "from typing import Literal\ndef op(a: Literal[-1, 0, 1], b: Literal[-1, 0, 1]):\n    return {}\n"


@pytest.mark.parametrize("result", ["a * b * b", "max(a, b)", "(a, b)[b != 0]", "a * b"])
def test_an_operator_on_listed_values_is_not_refused_for_others(result: str) -> None:
    """`a * b * b` is associative on -1, 0 and 1, not on 2."""
    assert checked(LISTED.format(result)).verdict == "proved"


TEXTS = 'from typing import Literal\ndef op(a: Literal["p", "q"], b: Literal["p", "q"]):\n    return {}\n'


@pytest.mark.parametrize(
    ("result", "found"),
    [
        ('b if a == "p" else ("q" if a == "q" else "p")', "proved"),  # not of other texts
        ('"q" if a == "q" or b == "q" else "p"', "proved"),
        ('"q" if a == "p" and b == "p" else "p"', "not associative: with a = 'p'"),
        ('"r" if a == b else a', "the result is none of the values of the annotation: with a = "),
    ],
)
def test_an_operator_on_listed_texts(result: str, found: str) -> None:
    told = checked(TEXTS.format(result))
    assert found == told.verdict or told.reason.startswith(found)
    assert (told.domain, told.notes) == ("listed texts", ()) and "''" not in told.reason


@pytest.mark.parametrize("result", ["a + b if a < 1000000 else 7", "a + b", "a // 2 + 2"])
def test_an_operator_that_leaves_its_listed_values_is_refused(result: str) -> None:
    """Where it is fed its own results, nothing that was taken of the listed values holds."""
    found = checked(LISTED.format(result))
    assert (found.status, found.verdict) == ("refused", "refuted")
    assert found.reason.startswith("the result is none of the values of the annotation: with a = ")


def test_a_witness_has_listed_values() -> None:
    found = checked(LISTED.format("max(-1, min(1, a + b))"))
    assert found.witness is not None
    assert {*found.witness.values} <= {-1, 0, 1}


def test_listed_values_that_are_neither_kept_nor_left_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checking, "decide", lambda *_: Open("given up"))
    found = checked(LISTED.format("max(a, b)"))
    assert found.reason == "neither proved nor refuted that results are such values as are meant: given up"


def test_types_are_guessed_in_as_many_rounds_as_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A quotient makes both values real, which takes a second look."""
    module = parse_module("def op(a, b):\n    return a / b\n")
    binary = import_module("warploom.scan.reading.binary")
    for rounds, is_read in ((1, False), (2, True)):
        monkeypatch.setattr(binary, "_ROUNDS", rounds)
        with nullcontext() if is_read else pytest.raises(UserError, match="operands' types"):
            read_binary(module, "op")


NAMED_TUPLES = """
from collections import namedtuple
from typing import NamedTuple
class Best(NamedTuple):
    total: int
    most: int = 0
class Adding(NamedTuple):
    total: int
    def __add__(self, other):
        return 3
def joined(a: Best, b: Best) -> Best:
    return Best(a.total + b[0], most=max(a.most, a[0] + b[-1]))
def apart(a: Best, b: Best) -> Best:
    return Best(a.total - b.total, 0)
def adding(a: Adding, b: Adding) -> Adding:
    return Adding(a.total + b.total)
def beyond(a: Best, b: Best) -> Best:
    return Best(a[2] + b[2], 0)
def first(a: Best, b: Best) -> Best:
    a[0] = 1
    return Best(a.total, b.most)
"""


def test_named_tuples_are_operands() -> None:
    module = parse_module(NAMED_TUPLES, "own.py")
    found = {name: check(read_binary(module, name), user_function(module, name)) for name in ("joined", "apart")}
    assert found["joined"].verdict == "proved"
    assert found["apart"].verdict == "refuted" and found["apart"].witness is not None
    for name, told in (("adding", "got Adding"), ("beyond", "one of the constant keys"), ("first", "a value that can be set")):
        with pytest.raises(UserError, match=told):
            read_binary(module, name)
