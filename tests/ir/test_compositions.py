"""Primitives against the paper's equations, the notation, and what compositions cost."""

from __future__ import annotations

import random
from math import gcd

import numpy as np
import pytest

from warploom.core import UserError
from warploom.ir.swizzle import (
    Cm2Linear,
    Composition,
    Fan,
    Group,
    Primitive,
    Rot,
    Unit,
    Xor,
    check_domains,
    parse_composition,
)


def literal(primitive: Primitive, i: int, k: int) -> int:
    """Equations 2, 3, 4, 8 and 9, and exclusive or."""
    match primitive:
        case Rot(n, cr, dr, c):
            return (i + k * cr + (k // dr if dr else 0) + c) % n
        case Fan(n, cf):
            df = n // gcd(cf, n)
            return (i * cf + (i // df if df < n else 0)) % n
        case Xor(n, dr, c):
            low = max(p for p in (1, 2, 4, 8, 16, 32, 64) if n % p == 0)
            return i ^ ((k // dr) % low if dr else 0) ^ c
        case Cm2Linear(n, m):
            return (k * n + i) % m
        case Group(size, inner):
            return i // size * size + literal(inner, i % size, k)
        case Unit(_, u, inner):
            return literal(inner, i // u, k) * u + i % u


def random_core(rng: random.Random, n: int) -> Primitive:
    kind = rng.choice(("rot", "fan", "xor")) if n > 1 else "rot"
    if kind == "rot":
        return Rot(n, rng.randrange(n), rng.choice((0, 1, 2, 3, 5)), rng.randrange(n))
    if kind == "fan":
        return Fan(n, rng.randrange(1, n))
    return Xor(n, rng.choice((1, 2, 3))) if rng.random() < 0.5 else Xor(n, 0, rng.randrange(n & -n))


def random_primitive(rng: random.Random, n: int) -> Primitive:
    divisors = [d for d in range(1, n + 1) if n % d == 0]
    d = rng.choice(divisors)
    match rng.choice(("core", "group", "unit", "both")):
        case "group":
            return Group(d, random_core(rng, d))
        case "unit":
            return Unit(n, d, random_core(rng, n // d))
        case "both":
            e = rng.choice([e for e in range(1, d + 1) if d % e == 0])
            return Group(d, Unit(d, e, random_core(rng, d // e)))
        case _:
            return random_core(rng, n)


@pytest.mark.parametrize("seed", range(60))
def test_values_and_notation(seed: int) -> None:
    rng = random.Random(seed)
    m, n = rng.randint(2, 24), rng.randint(1, 24)
    chain: list[Primitive] = [random_primitive(rng, m) for _ in range(rng.randrange(4))]
    if seed % 3 == 0:
        chain = [random_primitive(rng, n), Cm2Linear(m, n), *chain]
    composition = Composition(rng.choice("ij"), tuple(chain))
    parsed = parse_composition(str(composition))
    counts = (m, n) if composition.start == "i" else (n, m)
    assert check_domains(composition, *counts) == ""
    assert str(parsed) == str(composition)
    i, j = np.meshgrid(np.arange(counts[0]), np.arange(counts[1]), indexing="ij")
    values = composition.apply(i, j)
    assert (parsed.apply(i, j) == values).all()
    for x, k in np.ndindex(m, n):
        value = x
        for primitive in reversed(chain):
            value = literal(primitive, value, k)
        assert values[(x, k) if composition.start == "i" else (k, x)] == value
    if not any(isinstance(p, Cm2Linear) for p in chain):
        by_index = values if composition.start == "i" else values.T
        assert (np.sort(by_index, axis=0) == np.arange(m)[:, None]).all()


def test_text() -> None:
    assert str(Composition("i")) == "i"
    assert str(Composition("i", (Rot(12, 1, 4), Fan(12, 5)))) == "(rot(12)(k=j, cr=1, dr=4) o fan(12)(cf=5))(i)"
    assert str(Composition("j", (Group(4, Rot(4, 1)),))) == "group(4, rot(4)(k=i, cr=1))(j)"
    assert str(Composition("i", (Cm2Linear(12, 8), Unit(12, 3, Xor(4, 1))))) == (
        "(cm2linear(12, 8)(k=j) o unit(12, 3, xor(4)(k=j)))(i)"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rot(12)(k=i, cr=1)(i)", "expected the other index than i as k, got i at column 11"),
        ("rot(12)(cr=1)(i)", r"expected k=... beside cr and dr"),
        ("rot(12)(k=j)(i)", r"expected cr=... or dr=... beside k"),
        ("fan(12)(cf=12)(i)", "expected 0 < cf < 12"),
        ("xor(12)(c=4)(i)", "expected 0 <= c < 4"),
        ("xor(12)(k=j, c=1)(i)", "expected k or c, not both"),
        ("group(5, rot(4)(c=1))(i)", "expected a permutation of 5 elements, got one of 4"),
        ("unit(12, 5, rot(2)(c=1))(i)", "expected a unit that divides 12, got 5"),
        ("group(4, cm2linear(4, 8)(k=j))(i)", "expected a permutation of one index"),
        ("(rot(4)(c=1) o)(i)", "expected rot or fan"),
        ("rot(4)(c=1)", r"expected `\(`, got ``"),
        ("rot(4)(c=1)(i) j", "expected the end"),
        ("rot(4)[c=1](i)", "expected a number, a name or one of"),
        ("turn(4)(i)", "got `turn`"),
        ("", "expected rot or fan"),
        ("rot(" * 3, "expected a number"),
    ],
)
def test_bad_text(text: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        parse_composition(text)


def test_domains() -> None:
    chain = Composition("i", (Rot(8, 1), Cm2Linear(12, 8), Fan(12, 5)))
    assert check_domains(chain, 12, 8) == ""
    assert "below 12 for fan(12)(cf=5), got one below 8" in check_domains(chain, 8, 12)


@pytest.mark.parametrize(
    ("text", "cost"),
    [
        ("i", 0),
        ("rot(32)(k=j, cr=1)(i)", 2),  # one addition, one mask
        ("rot(12)(k=j, cr=1)(i)", 9),
        ("rot(12)(k=j, cr=11)(i)", 9),  # a subtraction
        ("(rot(12)(k=j, cr=1) o fan(12)(cf=5))(i)", 11),  # 5 * i + j: one remainder
        ("(fan(12)(cf=5) o rot(12)(k=j, cr=1))(i)", 11),
        ("(fan(12)(cf=3) o rot(12)(k=j, cr=1))(i)", 21),  # the fan's floor needs the remainder: and a division by 4
        ("xor(32)(k=j)(i)", 1),
        ("xor(8)(k=j)(i)", 2),  # of a parameter below 32: cut to the mask
        ("cm2linear(12, 32)(k=j)(i)", 4),
        ("group(4, rot(4)(k=j, cr=1))(i)", 5),
    ],
)
def test_cost(text: str, cost: int) -> None:
    size = 12 if "12" in text else 32
    assert parse_composition(text).cost(size, 32) == cost
