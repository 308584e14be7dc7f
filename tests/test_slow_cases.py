"""The default ring has a case of every test; which ones is chosen by measured times."""

import pytest
from tests.slow_cases import CASES, exists, slow_cases

HERE = "tests/test_slow_cases.py::"


def test_the_cheapest_case_of_a_test_stays() -> None:
    times = [f"3.00 {HERE}a[x y]", f"2.00 {HERE}a[2]", f"0.09 {HERE}b[1]", f"0.05 {HERE}b[2]", f"9.00 {HERE}c"]
    assert slow_cases(times, []) == [f"{HERE}a[x y]"]
    assert slow_cases(times, [], {f"{HERE}a[x y]"}) == []


def test_what_must_be_refused_is_tried_at_once() -> None:
    times = [f"0.50 {HERE}planted_bugs[1]", f"0.05 {HERE}planted_bugs[2]", f"1.20 {HERE}planted_bugs[3]"]
    assert slow_cases(times, []) == [f"{HERE}planted_bugs[3]"]


def test_what_was_not_measured_stays_while_its_test_is_there() -> None:
    here, gone = f"{HERE}test_the_cheapest_case_of_a_test_stays[1]", f"{HERE}test_of_another_time[1]"
    assert slow_cases([], [here, gone]) == [here]


@pytest.mark.parametrize("name", CASES.read_text(encoding="utf-8").splitlines()[::25])
def test_slow_cases_are_there(name: str) -> None:
    assert exists(name)
