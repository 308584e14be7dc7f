"""Functions of one thread that decide on integers: path by path, and what is known of comparisons on each."""

import numpy as np
import pytest

from warploom.core import UnsupportedError, f32, i32, u32
from warploom.ptx import lower, parse
from warploom.synth.compiled import ArrayArgument, CompiledProof, Wanted, prove_by_cases
from warploom.synth.compiled.arithmetic import NotFollowedError
from warploom.synth.compiled.cases import MOST_CASES, Cases, Facts, UndecidedError, decided, paths
from warploom.synth.compiled.data import Comparison
from warploom.terms import Term, algebra_for, apply, atom, constant, iterate_post

X, Y, Z = (atom("x", (k,)) for k in range(3))
ZERO, ONE, TWO, FIVE = (constant(k) for k in (0, 1, 2, 5))


def is_(a: Term, op: str, b: Term, kind: object = i32) -> Comparison:
    return Comparison(op, a, b, kind)  # type: ignore[arg-type]


def proved(body: str, wanted: Term, element: str = "s32") -> CompiledProof:
    text = f"""
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p, .param .u64 q)
{{
    .reg .b32 %r<9>;
    .reg .f32 %f<9>;
    .reg .b64 %d<5>;
    .reg .pred %p<5>;
    ld.param.u64 %d1, [p];
    ld.param.u64 %d2, [q];
    ld.global.u32 %r1, [%d1];
    ld.global.u32 %r2, [%d1+4];
    mov.u32 %r3, 7;
    {body}
    st.global.u32 [%d2], %r3;
    ret;
}}
"""
    terms = np.empty(1, object)
    terms[0] = wanted
    kind = i32 if element == "s32" else f32
    kinds = dict.fromkeys(iterate_post(wanted), kind)
    want = Wanted(terms, np.array([True]), algebra_for(i32), kinds, frozenset({i32}))
    arguments = (ArrayArgument("x", kind, (3,)), ArrayArgument("y", i32, (1,), "undefined"))
    return prove_by_cases(lower(parse(text, "k.ptx")), "k", arguments, {"y": want})


BRANCH = "setp.lt.s32 %p1, %r1, %r2; @%p1 bra A; add.s32 %r3, %r1, 1; bra B; A: mov.u32 %r3, %r2; B:"
BRANCHED = apply("select <", X, Y, Y, apply("+", X, ONE))


def test_a_branch_is_a_choice() -> None:
    assert proved(BRANCH, BRANCHED).verdict == "proved"
    assert proved(BRANCH, apply("select >=", X, Y, apply("+", X, ONE), Y)).verdict == "proved"
    for wrong in (apply("select <=", X, Y, Y, apply("+", X, ONE)), apply("select <", Y, X, Y, apply("+", X, ONE)), Y):
        found = proved(BRANCH, wrong)
        assert found.verdict == "unchecked" and found.reason.startswith("in one case")


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("setp.eq.s32 %p1, %r1, 1; selp.s32 %r3, 1, 0, %p1;",
         apply("select >=", X, ONE, apply("select >=", X, TWO, ZERO, ONE), ZERO)),
        ("setp.eq.s32 %p1, %r1, 0; setp.ne.s32 %p2, %r2, 0; or.pred %p3, %p1, %p2; selp.s32 %r3, 5, %r1, %p3;",
         apply("select ==", X, ZERO, FIVE, apply("select !=", Y, ZERO, FIVE, X))),
        ("or.b32 %r4, %r1, %r2; setp.ne.s32 %p1, %r4, 0; selp.s32 %r3, 1, 0, %p1;",
         apply("select !=", X, ZERO, ONE, apply("select !=", Y, ZERO, ONE, ZERO))),
        ("setp.lt.u32 %p1, %r1, 2; selp.s32 %r3, 1, 0, %p1;",
         apply("select >=", X, ZERO, apply("select <=", X, ONE, ONE, ZERO), ZERO)),
        ("setp.ge.u32 %p1, %r1, 2; selp.s32 %r3, 0, 1, %p1;",
         apply("select >=", X, ZERO, apply("select <=", X, ONE, ONE, ZERO), ZERO)),
        ("setp.eq.s32 %p1, %r1, 5; selp.s32 %r3, 5, %r1, %p1;", X),
        ("setp.lt.s32 %p1, %r1, %r2; selp.s32 %r3, %r1, %r2, %p1;", apply("min", X, Y)),
        ("max.s32 %r3, %r1, %r2;", apply("select <", X, Y, Y, X)),
        ("add.s32 %r4, %r2, %r1; setp.gt.s32 %p1, %r4, 5; selp.s32 %r3, 1, 0, %p1;",
         apply("select >", apply("+", X, Y), FIVE, ONE, ZERO)),
    ],
)  # fmt: skip
def test_choices_in_another_form(body: str, wanted: Term) -> None:
    found = proved(body, wanted)
    assert found.verdict == "proved", found.reason


def test_what_is_not_followed() -> None:
    floats = "ld.global.f32 %f1, [%d1]; setp.lt.f32 %p1, %f1, 0f00000000; @%p1 bra A; mov.u32 %r3, 1; A:"
    with pytest.raises(UnsupportedError, match="does not depend on data"):
        proved(floats, ONE, "f32")
    assert "floats" in proved("mov.u32 %r3, 1;", apply("select <", X, Y, ONE, ONE), "f32").reason
    assert proved("st.global.u32 [%d2+64], %r3;", ONE).verdict == "unchecked"
    assert "defined" in proved("@%p4 bra A; A:", ONE).reason
    endless = "A: add.s32 %r1, %r1, 1; setp.lt.s32 %p1, %r1, %r2; @%p1 bra A;"
    with pytest.raises(UnsupportedError, match="decisions on data"):
        proved(endless, ONE)


def test_too_many_cases() -> None:
    many = ONE
    for k in range(2 * MOST_CASES):
        many = apply("select ==", X, constant(k), constant(k), many)
    assert f"more than {MOST_CASES} cases" in proved("mov.u32 %r3, 1;", many).reason

    def forks(cases: Cases) -> None:
        for k in range(10):
            cases.decide(is_(atom("z", (k,)), "<", ZERO))

    with pytest.raises(NotFollowedError, match="paths"):
        list(paths(forks))


def test_too_many_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    two = "setp.lt.s32 %p1, %r1, 0; selp.s32 %r4, 1, 0, %p1; setp.lt.s32 %p1, %r2, 0; selp.s32 %r3, %r4, 0, %p1;"
    wanted = apply("select <", Y, ZERO, apply("select <", X, ZERO, ONE, ZERO), ZERO)
    assert proved(two, wanted).verdict == "proved"
    monkeypatch.setattr("warploom.synth.compiled.cases.MOST_CASES", 2)
    assert proved(two, wanted).reason == "more than 2 paths"


def test_each_path_is_taken_once() -> None:
    def run(cases: Cases) -> str:
        return "a" if cases.decide(is_(X, "<", ONE)) else "b" if cases.decide(is_(X, "<", FIVE)) else "c"

    assert sorted(found for _, found in paths(run)) == ["a", "b", "c"]
    assert Cases().decide(is_(X, "<", ONE, f32)) is None


def test_what_follows_from_what_is_known() -> None:
    facts = Facts()
    assert facts.decide(is_(X, "<", Y)) is None and facts.number(X) is None
    assert facts.decide(is_(X, "<=", X)) is True and facts.decide(is_(ONE, ">", TWO)) is False
    assert facts.add(is_(X, "<=", Y), True) and facts.decide(is_(Y, "<", X)) is False and facts.decide(is_(X, "==", Y)) is None
    assert facts.add(is_(Y, "!=", X), True) and facts.decide(is_(X, "<", Y)) is True
    assert not facts.add(is_(X, ">", Y), True) and facts.add(is_(X, ">", Y), False)
    other = facts.copy()
    assert other.add(is_(FIVE, ">=", Z), True) and facts.decide(is_(Z, "<=", FIVE)) is None
    assert other.decide(is_(Z, ">", FIVE)) is False and other.decide(is_(Z, ">", TWO)) is None
    assert other.add(is_(Z, "<", FIVE), False) and other.number(Z) == 5
    assert facts.add(is_(Z, "==", ONE), False) and facts.add(is_(Z, ">=", ONE), True)
    assert facts.decide(is_(Z, ">=", TWO)) is True and facts.decide(is_(Z, "==", ONE)) is False
    assert facts.add(is_(Z, ">", TWO), False) and facts.number(Z) == 2


def test_sums_are_known_in_their_own_type() -> None:
    facts = Facts()
    one, other = apply("+", X, Y), apply("+", Y, X)
    facts.add(is_(one, "<", ZERO), True)
    assert facts.decide(is_(other, "<", ZERO)) is True and facts.decide(is_(other, "<", ZERO, u32)) is None


def test_minima_are_decided_by_either_order() -> None:
    kinds = dict.fromkeys((X, Y), i32)
    least, most = apply("min", X, Y), apply("max", X, Y)
    facts = Facts()
    with pytest.raises(UndecidedError):
        decided(least, facts, kinds, lambda t, k: t, all_of="extrema")
    assert decided(least, facts, kinds, lambda t, k: t, all_of="choices") is least
    facts.add(is_(X, ">=", Y), True)
    assert decided(least, facts, kinds, lambda t, k: t) is Y and decided(most, facts, kinds, lambda t, k: t) is X
    assert decided(most, facts, dict.fromkeys((X, Y), f32), lambda t, k: t) is most
