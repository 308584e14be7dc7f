"""Canonical forms: laws of each algebra, soundness against evaluation on all small words, size."""

import itertools
import random
import time
from fractions import Fraction

import pytest
from tests.terms.products import sum_of_products

from warploom.core import BY_NAME, UserError, f32, i8, i32, u8, u32
from warploom.terms import (
    FormTooLargeError,
    Normaliser,
    NotSumOfProductsError,
    Term,
    algebra_for,
    apply,
    atom,
    component,
    constant,
    convert,
    equal,
    evaluate,
    iterate_post,
    maximum,
    minimum,
    normal,
    pack,
)

a, b, c, d = (atom("x", (i,)) for i in range(4))
INT, REAL, XOR = algebra_for(i32), algebra_for(f32), algebra_for(u32, "xor/and")
WORD = algebra_for(u8)


@pytest.mark.parametrize(
    ("lhs", "rhs", "algebra", "same"),
    [
        (a + b, b + a, INT, True),
        (a * (b + c), c * a + b * a, INT, True),
        (a + a, 2 * a, INT, True),
        (a << 3, 8 * a, INT, True),
        (a - b, -(b - a), INT, True),
        (a * (1 << 31) + a * (1 << 31), constant(0), INT, True),
        (a * (1 << 31) + a * (1 << 31), constant(0), algebra_for(i32, "integers"), False),
        (a / 3 + b / 3, (a + b) / 3, REAL, True),
        (a / 3 + b / 3, (a + b) / 3, INT, False),
        (a * 0.5, a / 2, REAL, True),
        (a / b, a * (1 / b), REAL, False),
        (a + 1.0, 1 + a, REAL, True),
        (a ^ a, constant(0), XOR, True),
        (a & (b ^ c), (a & b) ^ (a & c), XOR, True),
        (a & a, a, XOR, True),
        ((a | b) ^ c, a ^ b ^ c ^ (a & b), XOR, True),
        (~(a | b), ~a & ~b, XOR, True),
        (a + a, constant(0), XOR, False),
        ((a ^ b) << 3, (a << 3) ^ (b << 3), INT, True),
        ((a & 0xFF) ^ (a & 0xFF00), a & 0xFFFF, INT, True),
        (a | (a & b), a, INT, True),
        (a & (a | b), a, INT, True),
        (minimum(a, maximum(a, b)), a, INT, True),
        (minimum(a, a), a, REAL, True),
        (minimum(a, b) + c, minimum(a + c, b + c), REAL, False),
        (minimum(a, b) + c, minimum(a + c, b + c), algebra_for(f32, "min-plus"), True),
        (minimum(a + b, 3 + a), a + minimum(b, 3), algebra_for(f32, "min-plus"), True),
        (maximum(a, minimum(b, c)), minimum(maximum(a, b), maximum(a, c)), REAL, True),
        (minimum(minimum(a, 3), 5), minimum(a, 3), INT, True),
        (minimum(a, 2**31 - 1), a, INT, True),
        (maximum(a, -(2**31)), a, INT, True),
        (minimum(a + b, c), minimum(c, b + a), INT, True),
        (a * (b + c), a * b + a * c, algebra_for(f32, "commutative"), False),
        ((a * b + c) + 0, c + b * a, algebra_for(f32, "commutative"), True),
        (a + b, b + a, algebra_for(f32, "syntactic"), False),
        (a - a, constant(0), algebra_for(f32, "commutative"), False),
        (apply("cast.f32", a + b), apply("cast.f32", b + a), INT, True),
        (a ^ (b + c), (c + b) ^ a, INT, True),
        (minimum(maximum(a, 7), 5), constant(5), INT, True),
        (minimum(maximum(a, 3), 5), maximum(minimum(a, 5), 3), INT, True),
        (minimum(maximum(a, 3), 5), maximum(a, 3), INT, False),
        (minimum(maximum(a, 3), maximum(a, 5)), maximum(a, 3), INT, True),
        (apply("cast.i32.u8", (a - a) + 300), constant(44), WORD, True),
        (apply("cast.f32.i32", (a - a) + 0.5), constant(0), INT, False),
        (apply("cast.f32.i32", (a - a) + 3.0), constant(3), INT, True),
        ((a + b) * (a + b), a * a + 2 * (a * b) + b * b, INT, True),
        ((a + 2) * (b + 3), a * b + 3 * a + 2 * b + 6, INT, True),
        (maximum(a + a, a + b) + c, a + maximum(a + c, b + c), algebra_for(f32, "max-plus"), True),
        (minimum(a, b) + minimum(a, b), minimum(a + a, minimum(a + b, b + b)), algebra_for(f32, "min-plus"), True),
        (minimum(a, b) + minimum(a, b), a + b, algebra_for(f32, "min-plus"), False),
    ],
)
def test_laws(lhs: Term, rhs: Term, algebra, same: bool):
    assert equal(lhs, rhs, algebra) is same


def test_user_operators_are_multisets_with_their_identity():
    algebra = algebra_for(i32, None, {"plus7": 0})
    f = lambda *args: apply("plus7", *args)  # noqa: E731
    assert equal(f(f(a, b), c), f(c, f(b, f(a, 0))), algebra)
    assert not equal(f(a, a), a, algebra)
    assert sum_of_products(f(f(0, a * b), a * b), algebra, "plus7", "*") == {tuple(sorted((a, b), key=lambda t: t.serial)): 2}


def test_vectors_are_compared_by_components():
    v, w = atom("v", (0,), 2), atom("w", (0,), 2)
    both = pack(a, b) + v * w
    assert equal(component(both, 1), w.y * v.y + b, INT)
    assert equal((v + w).x, v.x + w.x, INT)


def _evaluate(term: Term, values: dict[Term, int], bits: int = 8, signed: bool = False) -> int:
    done: dict[Term, int] = {}
    for t in iterate_post(term):
        x = [done[s] for s in t.args]
        match t.op:
            case "atom":
                r = values[t]
            case "constant":
                r = t.data[0]
            case "+":
                r = x[0] + x[1]
            case "-":
                r = x[0] - x[1]
            case "*":
                r = x[0] * x[1]
            case "neg":
                r = -x[0]
            case "~":
                r = ~x[0]
            case "&":
                r = x[0] & x[1]
            case "|":
                r = x[0] | x[1]
            case "^":
                r = x[0] ^ x[1]
            case "<<":
                r = x[0] << x[1]
            case ">>":
                r = x[0] >> x[1]
            case "min":
                r = min(x)
            case "max":
                r = max(x)
            case _:
                raise AssertionError(t.op)
        r %= 1 << bits
        done[t] = r - (1 << bits) if signed and r >> (bits - 1) else r
    return done[term]


@pytest.mark.parametrize("dtype", [i8, u8], ids=str)
def test_equal_terms_evaluate_equally(dtype):
    """Random terms over every operator, normalised: terms with one canonical form never differ on sampled words."""
    rng = random.Random(7)
    algebra = algebra_for(dtype)
    by_form: dict[object, list[Term]] = {}
    pool: list[Term] = [a, b, constant(0), constant(3)]
    for _ in range(3000):
        op = rng.choice(["+", "-", "*", "neg", "~", "&", "|", "^", "<<", ">>", "min", "max"])
        if op in ("neg", "~"):
            t = apply(op, rng.choice(pool))
        elif op in ("<<", ">>"):
            t = apply(op, rng.choice(pool), rng.randrange(1, 8))
        else:
            t = apply(op, rng.choice(pool), rng.choice(pool))
        if len(pool) < 60 or rng.random() < 0.05:
            pool.append(t)
        by_form.setdefault(normal(t, algebra), []).append(t)
    signed = dtype is i8
    samples = [
        {a: x, b: y} for x, y in itertools.product((-128, -3, 0, 1, 85, 127) if signed else (0, 1, 85, 170, 253, 255), repeat=2)
    ]
    groups = [g for g in by_form.values() if len(g) > 1]
    assert len(groups) > 50
    for group in groups:
        for other in group[1:]:
            for values in samples:
                assert _evaluate(group[0], values, 8, signed) == _evaluate(other, values, 8, signed), (group[0], other)


def test_bitwise_terms_with_different_forms_differ_somewhere():
    """Completeness of the Boolean ring: exhaustive over two bits of three words."""
    rng = random.Random(3)
    pool: list[Term] = [a, b, c, a ^ b]
    terms = []
    for _ in range(120):
        t = apply(rng.choice("&^"), rng.choice(pool), rng.choice(pool))
        pool.append(t)
        terms.append(t ^ a)
    table = {}
    for t in terms:
        values = tuple(_evaluate(t, dict(zip((a, b, c), v, strict=True))) for v in itertools.product((0, 255), repeat=3))
        table.setdefault(values, set()).add(normal(t, WORD))
    assert all(len(forms) == 1 for forms in table.values())


def test_four_thousand_products_in_a_left_leaning_sum():
    def total(order):
        t = constant(0)
        for i in order:
            t = t + atom("w", (i,)) * atom("x", (i,))
        return t

    started = time.process_time()
    forward, backward = total(range(4096)), total(reversed(range(4096)))
    assert equal(forward, backward, INT)
    assert len(sum_of_products(forward, INT, "+", "*")) == 4096
    assert time.process_time() - started < 1.5


def test_doubling_chain_does_not_expand():
    t = a
    for _ in range(200):
        t = t + t
    assert equal(t, constant(0), INT)
    x = a | b
    for i in range(3000):
        x = x | atom("z", (i,))
    assert normal(x, INT) == normal(x | a, INT)


def test_explosion_is_an_error():
    t = constant(1)
    for i in range(40):
        t = t * (atom("p", (i,)) + atom("q", (i,)))
    with pytest.raises(FormTooLargeError):
        normal(t, INT)


def test_sum_of_products():
    a, b, c, d = (atom("factor", (i,)) for i in range(4))  # factors are ordered by creation: no other test makes these
    assert sum_of_products(a * b + b * a + c * 3, INT, "+", "*") == {(a, b): 2, (c,): 3}
    assert sum_of_products((a + b) / 3, REAL, "+", "*") == {(a,): Fraction(1, 3), (b,): Fraction(1, 3)}
    assert sum_of_products((a & b) ^ (c & d) ^ 0, XOR, "^", "&") == {(a, b): 1, (c, d): 1}
    assert sum_of_products(constant(0), XOR, "^", "&") == {}
    assert sum_of_products(a, INT, "+", "*") == {(a,): 1}
    assert sum_of_products(minimum(a, minimum(b, c)), REAL, "min") == {(a,): 1, (b,): 1, (c,): 1}
    assert sum_of_products(minimum(a + b, c + d), algebra_for(f32, "min-plus"), "min", "+") == {(a, b): 1, (c, d): 1}
    assert sum_of_products(minimum(a + b, c + d), INT, "min", "+") == {(a, b): 1, (c, d): 1}
    assert sum_of_products(minimum(a, b) + minimum(c, d), REAL, "+", "min") == {(a, b): 1, (c, d): 1}
    assert sum_of_products((a + b) * (c + d), algebra_for(f32, "commutative"), "*", "+") == {(a, b): 1, (c, d): 1}
    assert sum_of_products(a * b + a * b, algebra_for(f32, "commutative"), "+", "*") == {(a, b): 2}
    assert sum_of_products(a | b | (c & d), INT, "|", "&") == {(a,): 1, (b,): 1, (c, d): 1}
    assert sum_of_products(minimum(maximum(a, b), c), INT, "min", "max") == {(a, b): 1, (c,): 1}
    v = atom("v", (0,), 2)
    assert sum_of_products(v.x + v.y, INT, "+") == {(v.x,): 1, (v.y,): 1}
    for term, outer, inner in [
        (a / b, "+", "*"),
        (apply("cast.f32", a) + b, "+", "*"),
        (a * b + c, "+", None),
        (a + (b ^ c), "+", "*"),
        (minimum(a, b) * c, "+", "*"),
    ]:
        with pytest.raises(NotSumOfProductsError, match=r"^expected "):
            sum_of_products(term, INT, outer, inner)


def test_domains():
    declared = {"integers": i32, "xor/and": u32, "min-plus": f32, "max-plus": f32, "commutative": f32, "syntactic": f32}
    assert {name: algebra_for(dtype, name).domain for name, dtype in declared.items()} == {
        "integers": "integers", "xor/and": "xor/and ring", "min-plus": "min and + of exact numbers",
        "max-plus": "max and + of exact numbers", "commutative": "commutative associative operators",
        "syntactic": "same operations in the same order",
    }  # fmt: skip
    assert [INT.domain_of({op}) for op in ("+", "^", "min")] == ["int32 wrap", "xor/and ring", "min and max of ordered values"]
    assert algebra_for(i32, "commutative").domain_of({"+"}) == "commutative associative operators"
    assert INT.domain == "int32 wrap" and algebra_for(u8).domain == "uint8 wrap"
    assert REAL.domain == "real sums reordered" and XOR.domain == "xor/and ring"
    assert INT.domain_of({"&", "^"}) == "xor/and ring"
    assert INT.domain_of({"+", "min"}) == "int32 wrap, min and max of ordered values"
    assert INT.domain_of(set()) == "elements moved unchanged"


@pytest.mark.parametrize(("dtype", "name"), [(f32, "xor/and"), (i32, "reals"), (i32, "group")])
def test_unfitting_algebra(dtype, name):
    with pytest.raises(UserError, match=r"expected an algebra for \w+ elements, got '"):
        algebra_for(dtype, name)


def test_text_of_forms():
    elements = [atom("x", (n,)) for n in (10, 9, 2, 1)]
    assert str(normal(sum(elements, start=constant(0)), INT)) == "x[1] + x[2] + x[9] + x[10]"
    assert str(normal(b * a - 2 * c + 7, INT)) == "7 - 2*x[2] + x[0]*x[1]"
    assert str(normal((a & b) ^ c, XOR)) == "x[0] & x[1] ^ x[2]"
    assert str(normal(minimum(a, maximum(b, 3)), INT)) == "min(max(3, x[1]), x[0])"


@pytest.mark.parametrize("path", list(itertools.product(["i8", "u8", "i32", "u32", "f16", "f32", "f64"], repeat=3)))
def test_conversions_that_give_back_every_value(path: tuple[str, str, str]):
    declared, through, target = (BY_NAME[name] for name in path)
    x = atom("x", (0,))
    there = convert(convert(x, declared, through), through, target)
    normal = Normaliser(algebra_for(target), {"x": declared}).canonical(there)
    samples = [0, 1, 2, 100, 127] + ([] if declared.kind == "uint" else [-1, -128]) + ([255] if declared.name != "i8" else [])
    samples += [2**31 - 1] if declared.bits == 32 and not declared.is_float else []
    samples += [2**24 + 2] if declared.name in ("f32", "f64") else []
    samples += [2**40 + 1] if declared.name == "f64" else []
    if normal is x:
        assert [evaluate([there], target, lambda _, v=v: v, casts=True) for v in samples] == [[v] for v in samples]
