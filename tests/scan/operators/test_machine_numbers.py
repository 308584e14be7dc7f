"""Claims about words and floats hold of the whole program: lift, combination, projection, start values, constants."""

from __future__ import annotations

from dataclasses import replace

import pytest

from warploom import scan
from warploom.scan.operators import expression as ex
from warploom.scan.operators import machine
from warploom.scan.operators import machine_numbers as module
from warploom.scan.operators.closure import right
from warploom.scan.operators.expression import Expr
from warploom.scan.operators.machine_numbers import differing_list, in_floats, in_words, operator_in_words, range_of
from warploom.scan.operators.prover import Holds, Open


def operator(step: str, kind: str = "int", start: str = "0", result: str = "s") -> scan.Operator:
    text = f"def f(xs: list[{kind}]):\n    s = {start}\n    for x in xs:\n        s = {step}\n    return {result}\n"
    found = scan.lift(scan.read_loop(scan.parse_module(text), "f"))
    assert found.verdict == "proved" and found.operator is not None
    return found.operator


@pytest.mark.parametrize(
    ("step", "start", "result", "differs"),
    [
        ("max(s, x * x)", "0", "s", ((52429,),)),  # only the lift computes
        ("max(s, x)", "0", "s * 1000000", ((52429,),)),  # only the projection does
        ("max(s, x)", "3000000000", "s", ()),  # a start value that no word has
        ("max(s, x)", "0", "s + 2147483647", ((1,),)),
        ("max(s, -x)", "-2147483647", "s", None),
        ("s + 1 if x > 3000000000 else s", "0", "s", None),
    ],
)
def test_the_whole_program_counts(step: str, start: str, result: str, differs: object) -> None:
    found = operator_in_words(operator(step, start=start, result=result))
    assert found.exact == "within" and not found.safe.startswith(module.NO_ARITHMETIC)
    assert differs == (found.differing and found.differing.elements)


def test_what_is_exact_without_a_condition() -> None:
    assert range_of(operator("x", start="5")) == ("always", "no arithmetic")
    exact, safe = range_of(operator("max(s, x)", start='float("-inf")'))
    assert (exact, safe) == ("within", "no arithmetic; every |element| < 2147483647")  # the least word stands for -inf
    assert range_of(operator("s + 3 * x"))[0] == "modulo"
    assert range_of(operator("s + x", result="max(s, 0)"))[0] == "within"


@pytest.mark.parametrize(
    ("step", "start", "safe"),
    [
        ("max(s + x, 0)", "0", "length * max(1, |element|) < 2147483647"),
        ("max(s, s + x)", "0", "length * max(1, |element|) <= 2147483647"),
        ("max(s, s + 2 * x)", "0", "no intermediate value beyond 32 bits"),
        ("max(s, s + x)", "7", "no intermediate value beyond 32 bits"),
    ],
)
def test_safe_ranges(step: str, start: str, safe: str) -> None:
    assert range_of(operator(step, start=start))[1] == safe


def test_a_safe_range_is_safe_at_its_edge() -> None:
    found = operator("max(s + x, 0)")
    for width in (8, 16):
        most = 2 ** (width - 1) - 2
        for elements in ([most], [most // 2] * 2, [most // 3] * 3, [-most], [-(most // 2), most // 2]):
            got = module._in_machine(found, [(e,) for e in elements], (), width)
            value = 0
            for e in elements:
                value = max(value + e, 0)
            assert got == (value,), (width, elements)


def test_wider_words_have_wider_ranges() -> None:
    found = operator("max(s, x * x)")
    differing = differing_list(found, 64)
    assert differing is not None and differing.machine != differing.loop
    assert abs(int(str(differing.elements[0][0]))) > 2**31
    assert machine.wrap(2**63, 64) == -(2**63)


def test_operators_of_reals_and_divisors_are_not_judged_in_words() -> None:
    a = scan.variables(*operator("s + x", "float").combine)
    assert in_words([a[0]], [a[0]], []).associative == "unknown"
    module_text = "from math import gcd\ndef op(a, b):\n    return gcd(a, b)\n"
    found = scan.check(scan.read_binary(scan.parse_module(module_text), "op"), lambda a, b: __import__("math").gcd(a, b))
    assert found.machine is not None and found.machine.associative == "unknown"


@pytest.mark.parametrize(
    ("step", "kind", "result", "width", "words"),
    [
        ("s + x", "float", "s", 64, "floats round"),
        ("max(s, x)", "float", "s", 32, "rounds nothing"),
        ("s + 1 if x > 0.1 else s", "float", "s", 64, "rounds nothing"),
        ("s + 1 if x > 0.1 else s", "float", "s", 32, "floats round"),  # 0.1 is another number there
        ("s + x", "int", "s / 2", 64, "floats round"),
        ("s + x", "int", "s", 64, ""),
    ],
)
def test_floats(step: str, kind: str, result: str, width: int, words: str) -> None:
    found = in_floats(operator(step, kind, result=result), width)
    assert words in found if words else not found


def test_every_part_of_the_growth_is_asked_for() -> None:
    found = operator("max(s, s + x)")
    (a,), (b,) = found.fields, found.right
    assert module.growth(found) == module.GROWTHS[0]
    assert module.growth(replace(found, combine=(ex.add(a, a, b),))) is None
    assert module.growth(replace(found, projection=(ex.add(a, a),))) is None
    assert module.growth(replace(found, lift=(ex.multiply(ex.constant(2), found.loop.fields[0]),))) is None
    assert module.growth(replace(found, identity=(ex.ONE,))) == module.GROWTHS[1]
    assert module.growth(replace(found, identity=(ex.constant(5),))) is None


def test_the_empty_list_is_in_the_safe_range() -> None:
    assert range_of(operator("min(s, x)", start="1 << 70"))[1] == module.fits()
    assert range_of(operator("max(s, x)", start="-(1 << 31)", result="-s"))[1] == module.fits()


def test_lists_that_differ_have_constants_that_are_meant() -> None:
    text = "def f(xs: list[int], k: int):\n    assert k == 7\n    s = 0\n    for x in xs:\n        s += k * x\n    return s\n"
    found = scan.lift(scan.read_loop(scan.parse_module(text), "f"))
    assert found.operator is not None
    differing = differing_list(found.operator)
    assert differing is not None and differing.constants == (7,)


@pytest.mark.parametrize(
    ("step", "start", "note"),
    [
        ("s + (x / 49 * 49 == x)", "0", "floats round"),
        ("s * 10", "1e308", "floats round"),
        ("max(s, x)", "0.0", "the operator rounds nothing"),
    ],
)
def test_floats_that_fell_out_of_the_operator_are_named(step: str, start: str, note: str) -> None:
    assert in_floats(operator(step, start=start)).startswith(note)


X, R = ex.variable("x", ex.INT), ex.variable("r", ex.REAL)
BELOW = ex.variable("low", ex.Sort("int", below=True))


@pytest.mark.parametrize(
    ("field", "result"),
    [
        (R, ex.add(R, right(R))),  # floats do not wrap
        (X, ex.greatest_common_divisor(X, right(X))),
        (X, ex.remainder(ex.add(X, right(X)), 3)),
        (X, ex.add(X, ex.floor_quotient(right(X), 3))),
        (BELOW, ex.maximum(ex.add(BELOW, ex.ONE), right(BELOW))),  # no word is minus infinity
    ],
)
def test_what_words_do_not_say(field: Expr, result: Expr, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "associativity", lambda *_: Holds())
    assert in_words([field], [result], []).associative == "unknown"
    assert in_words([X], [ex.maximum(ex.add(X, ex.ONE), right(X))], []).associative == "proved"
    monkeypatch.setattr(module, "associativity", lambda *_: Open("given up"))
    assert in_words([X], [ex.maximum(ex.add(X, ex.ONE), right(X))], []).associative == "unknown"


def test_a_counterexample_that_does_not_run_refutes_nothing() -> None:
    assert module._replayed([X], [ex.quotient(X, right(X))], "", {}, 32).associative == "unknown"
    with pytest.raises(ValueError, match="no machine form of div"):
        machine.run([ex.quotient(X, right(X))], {X: 1, right(X): 2}, 32)
    with pytest.raises(ValueError, match="opposite infinities"):
        machine.run([ex.add(X, right(X))], {X: float("inf"), right(X): float("-inf")}, 32)


@pytest.mark.parametrize(
    "result", [ex.greatest_common_divisor(X, right(X)), ex.exponential(R), ex.quotient(X, right(X)), ex.maximum(R, right(R))]
)
def test_what_is_no_selection(result: Expr) -> None:
    assert not module.is_selection([result], 32) and module.is_selection([ex.maximum(X, right(X))], 32)


def test_bounds_of_words_are_of_sums_of_whole_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    total, floats = operator("s + x"), operator("s + x", "float")
    divided = replace(total, combine=(ex.greatest_common_divisor(*total.fields, *total.right),))
    bits = replace(total, combine=(ex.bitwise("bitor", *total.fields, *total.right),))
    assert not module._grows_within(bits, 0)
    monkeypatch.setattr(module, "_grows_within", lambda *_: True)
    assert module.growth(replace(total)) == module.GROWTHS[0]
    assert [module.growth(o) for o in (floats, divided, bits)] == [None, None, None]
    assert differing_list(floats) is None and differing_list(total) is not None


@pytest.mark.parametrize("computed", [ex.exponential(R), ex.quotient(R, right(R)), ex.floor_quotient(R, 2), ex.remainder(R, 2)])
def test_choosing_among_reals_computes_none(computed: Expr) -> None:
    chosen = replace(operator("max(s, x)", "float"), combine=(ex.maximum(R, right(R)),))
    assert module.computes_no_reals(chosen) and not module.computes_no_reals(replace(chosen, combine=(computed,)))


def test_both_sides_of_a_comparison_are_computed_and_not_their_difference() -> None:
    x, y = ex.variable("x", ex.INT), ex.variable("y", ex.INT)
    sums = module.computed_sums([ex.select(ex.at_least(ex.multiply(ex.constant(3), x), y), x, y)])
    assert {(x,): 3} in sums and {(y,): 1} in sums and len(sums) == 2
