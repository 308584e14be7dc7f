"""A division by an odd number in fused steps is the quotient; steps that resemble it are not."""

import pytest
from tests.synth.compiled.test_attacks import BACK, FLOAT, F, equal_to, verdict

SHARE, NINE, LEAST = "0f3DE38E39", "0f41100000", "0fFF7FFFFF"
STEPS = (
    f"mul.rn.f32 %f2, %f1, {SHARE};",
    "neg.f32 %f3, %f1;",
    f"fma.rn.f32 %f4, %f2, {NINE}, %f3;",
    f"max.f32 %f4, %f4, {LEAST};",
    "neg.f32 %f4, %f4;",
    f"fma.rn.f32 %f1, %f4, {SHARE}, %f2;",
)


def of(steps: str) -> str:
    return verdict(f"{FLOAT}\t{steps}\n{BACK}", equal_to(lambda x: x / 9), F)


def test_the_nearest_float_is_the_quotient() -> None:
    steps = " ".join(STEPS)
    assert of(steps) == "proved"
    assert of(steps.replace("neg.f32 %f4, %f4; ", "").replace(f"%f4, {SHARE}, %f2", "%f4, 0fBDE38E39, %f2")) == "proved"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (f"%f1, {SHARE};", "%f1, 0f3DE38E38;"),
        ("mul.rn", "mul.rz"),
        ("fma.rn.f32 %f4", "fma.rp.f32 %f4"),
        ("fma.rn.f32 %f1", "fma.rm.f32 %f1"),
        ("neg.f32 %f4", "neg.ftz.f32 %f4"),
        (f"mul.rn.f32 %f2, %f1, {SHARE};", f"mul.rz.f32 %f2, %f1, {SHARE}; mul.rn.f32 %f5, %f1, {SHARE};"),
        (NINE, "0f40E00000"),
        ("neg.f32 %f3, %f1;", "mov.f32 %f3, %f1;"),
        ("neg.f32 %f4, %f4;", ""),
        (LEAST, "0fFF000000"),
        ("max.f32 %f4", "min.f32 %f4"),
        ("max.f32 %f4", "max.NaN.f32 %f4"),
        (f"%f4, {SHARE}", "%f4, 0f3DE38E38"),
        (f"{SHARE}, %f2;", f"{SHARE}, %f1;"),
        (f"fma.rn.f32 %f4, %f2, {NINE}, %f3;", f"mul.rn.f32 %f4, %f2, {NINE}; add.rn.f32 %f4, %f4, %f3;"),
        (
            f"fma.rn.f32 %f4, %f2, {NINE}, %f3; max.f32 %f4, %f4",
            f"mul.rn.f32 %f5, %f2, {NINE}; add.rn.f32 %f5, %f5, %f3; fma.rn.f32 %f4, %f2, {NINE}, %f3; max.f32 %f4, %f5",
        ),
        ("max.f32", f"mul.rn.f32 %f5, %f2, {NINE}; add.rn.f32 %f5, %f5, %f3; max.f32"),
    ],
)
def test_steps_that_resemble_it(old: str, new: str) -> None:
    steps = " ".join(STEPS)
    assert old in steps
    assert of(steps.replace(old, new, 1)) != "proved"


def test_an_even_divisor_has_quotients_between_two_floats() -> None:
    steps = " ".join(STEPS).replace(SHARE, "0f3E2AAAAB").replace(NINE, "0f40C00000")
    assert verdict(f"{FLOAT}\t{steps}\n{BACK}", equal_to(lambda x: x / 6), F) != "proved"
