"""Whether signed 32-bit indices wrap, for every launch; the kernels are those of test_races.py and some in PTX."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from warploom.ptx import Program, lower, parse
from warploom.ptx.launches import NotDecided, Overflows, assumptions, overflows
from warploom.ptx.launches.overflow import _is_legal, _Overflows

PTX = Path(__file__).parent / "kernels.ptx"
_LIMIT = 1 << 31
_HEAD = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out, .param .u32 m, .param .u32 n)
{
.reg .pred %p<9>; .reg .b32 %r<20>; .reg .b64 %rd<10>;
ld.param.u64 %rd1, [out];
ld.param.u32 %r1, [m];
ld.param.u32 %r2, [n];
mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x; mov.u32 %r5, %tid.x;
mad.lo.s32 %r6, %r3, %r4, %r5;
setp.ge.s32 %p1, %r6, %r1;
@%p1 bra END;
"""
"""%r6: the thread of the launch, which is below m."""
TAIL = "mul.wide.s32 %rd2, %r9, 4; add.s64 %rd3, %rd1, %rd2; st.global.u32 [%rd3], 1;\nEND:\nret;\n}\n"


@pytest.fixture(scope="module")
def program() -> Program:
    return lower(parse(PTX.read_text(encoding="utf-8"), "kernels.ptx"))


def asked(program: Program, kernel: str, assumed: str = "") -> Overflows:
    answer = overflows(program, kernel, assumptions(assumed) if assumed else ())
    assert isinstance(answer, Overflows)
    return answer


def of(body: str, assumed: str = "") -> Overflows:
    return asked(lower(parse(_HEAD + body + TAIL)), "k", assumed)


@pytest.mark.parametrize(
    ("body", "needed"),
    [
        ("mov.u32 %r9, %r6;", None),
        ("add.s32 %r9, %r6, 1;", None),
        ("add.s32 %r9, %r6, 2;", "2 + arg1 < 2147483648"),
        ("shl.b32 %r9, %r6, 2;", "4 * arg1 < 2147483648"),
        ("mul.lo.s32 %r9, %r6, %r2;", "arg2 >= 0 && arg1 * arg2 < 2147483648"),
        pytest.param(
            "mad.lo.s32 %r9, %r6, %r2, %r2;", "arg2 >= 0 && arg2 + arg1 * arg2 < 2147483648", marks=pytest.mark.slow
        ),
    ],
)  # fmt: skip
def test_what_is_offered_is_enough(body: str, needed: str | None) -> None:
    found = of(body)
    assert [one.needed for one in found.found] == ([] if needed is None else [needed])
    if needed is not None:
        assert not of(body, needed).found
        assert of(body, needed.replace("2147483648", "2147490000")).found


_PRODUCT = "mul.lo.s32 %r8, %r6, %r2; "
_GUARDED = "setp.gt.u32 %p2, %r9, 100; @%p2 bra END;"


@pytest.mark.parametrize(
    "body",
    [
        _PRODUCT + "shr.s32 %r9, %r8, 4;",
        _PRODUCT + "div.s32 %r9, %r8, 3;",
        "shl.b32 %r9, %r6, %r2;",
        "mul.lo.s32 %r9, %r2, 3; " + _GUARDED,
        "shl.b32 %r9, %r2, 2; " + _GUARDED,
        "add.s32 %r8, %r6, %r2; mad.lo.s32 %r9, %r8, %r1, %r2;",
    ],
    ids=["shifted back", "divided", "shifted by a size", "no sign by a condition", "shifted, no sign", "a sum in a product"],
)
def test_what_signed_numbers_are_made_of_may_wrap(body: str) -> None:
    """An index is wrong, too, where it fits in the end."""
    assert of(body).found


@pytest.mark.slow
def test_a_launch_shows_an_index_that_no_sizes_bound() -> None:
    (one,) = of("mul.lo.s32 %r9, %r6, %r6;", "arg1 == arg2").found
    assert one.needed is None and one.shown is not None
    sizes = dict(one.shown.sizes)
    last = sizes["gridDim.x"] * sizes["blockDim.x"] - 1
    assert last < sizes["arg1"] == sizes["arg2"] and one.shown.value == last * last >= _LIMIT


@pytest.mark.slow
def test_conditions_on_the_way_count() -> None:
    body = "mul.lo.s32 %r8, %r6, %r2; cvt.s64.s32 %rd5, %r8; setp.gt.s64 %p2, %rd5, 7; @%p2 bra END; mov.u32 %r9, %r6;"
    assert [one.needed for one in of(body).found] == ["arg2 >= 0 && arg1 * arg2 < 2147483648"]


def test_a_branch_before_a_barrier_that_may_go_another_way_is_not_decided() -> None:
    body = "mul.lo.s32 %r10, %r1, %r2; cvt.s64.s32 %rd5, %r10; setp.gt.s64 %p2, %rd5, 7; @%p2 bra L; bar.sync 0;"
    body += "L: mov.u32 %r9, %r6;"
    answer = overflows(lower(parse(_HEAD + body + TAIL)), "k", assumptions("blockDim.x == 32"))
    assert isinstance(answer, NotDecided) and answer.reason == "a branch before a barrier depends on a sum that may wrap"


def test_an_index_of_too_many_parts_is_never_said_to_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("warploom.ptx.launches.integers._LARGEST_SUM", 3)
    assert of("mul.lo.s32 %r9, %r6, %r6;", "arg1 < 100").found


def test_no_launch_is_shown_where_data_decide() -> None:
    (one,) = of("ld.global.u32 %r9, [%rd1]; add.s32 %r9, %r9, %r6;", "blockDim.x == 32").found
    assert (one.needed, one.shown) == (None, None)


@pytest.mark.slow
def test_random_threads_of_launches_for_which_no_index_wraps() -> None:
    """The sum is computed anew, over Python's numbers, for launches that the offered assumptions let through."""
    random = np.random.default_rng(3)
    body, needed = "mad.lo.s32 %r9, %r6, %r2, 12;", of("mad.lo.s32 %r9, %r6, %r2, 12;").found[0].needed
    assert needed is not None
    tried = 0
    for _ in range(4000):
        m, n = (int(2 ** random.uniform(0, 31)) for _ in "mn")
        if eval(needed.replace("&&", "and"), {"arg1": m, "arg2": n}):
            tried += 1
            assert (m - 1) * n + 12 < _LIMIT, (m, n, body)
    assert tried > 500


@pytest.mark.parametrize("kernel", ["axpy", "grid_stride", "unsigned_index"])
def test_kernels_whose_indices_never_wrap(kernel: str, program: Program) -> None:
    assert not asked(program, kernel).found


@pytest.mark.parametrize(
    "body",
    [
        "mul24.lo.s32 %r9, %r6, %r2;",
        "mad24.lo.s32 %r9, %r6, %r2, 1;",
        "mul24.lo.u32 %r8, %r6, %r2; add.s32 %r9, %r8, %r5;",
        "dp4a.s32.s32 %r9, %r6, %r2, %r6;",
        "dp2a.lo.s32.s32 %r9, %r6, %r2, %r6;",
    ],
)
def test_products_that_are_not_followed_are_never_said_to_fit(body: str) -> None:
    found = of(body, "blockDim.x == 32 && arg1 < 100").found
    assert found and all((one.needed, one.shown) == (None, None) for one in found)


@pytest.mark.parametrize("body", ["mul24.hi.s32 %r9, %r6, %r2;", "popc.b32 %r9, %r6;"])
def test_functions_that_cannot_wrap(body: str) -> None:
    assert not of(body).found


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ({"ntid.x": 1024, "nctaid.x": 1 << 21}, True),
        ({"ntid.x": 1024, "nctaid.x": (1 << 21) + 1}, False),
        ({"ntid.x": 32, "ntid.y": 64}, False),
        ({"ntid.y": 32, "nctaid.y": 65_535, "nctaid.x": 1 << 30}, True),
    ],
)
def test_launches_that_are_shown_are_legal(sizes: dict[str, int], expected: bool) -> None:
    assert _is_legal({**sizes}, 1024) is expected


@pytest.mark.slow
def test_no_other_launch_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("warploom.ptx.launches.overflow._is_legal", lambda sizes, most: False)
    (one,) = of("mul.lo.s32 %r9, %r6, %r6;", "arg1 == arg2").found
    assert (one.needed, one.shown) == (None, None)


def test_what_an_address_is_made_of_is_looked_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[frozenset[str]] = []
    leading = _Overflows._leading

    def counted(self: _Overflows, bases: frozenset[str]) -> list[int]:
        asked.append(bases)
        return leading(self, bases)

    monkeypatch.setattr(_Overflows, "_leading", counted)
    chain = "".join(f"add.s32 %r9, %r9, {n}; " for n in range(3))
    body = f"mov.u32 %r9, %r6; {chain}mul.wide.s32 %rd2, %r9, 4; add.s64 %rd3, %rd1, %rd2; " + "ld.global.u32 %r10, [%rd3]; " * 9
    assert of(body, "arg1 < 100").found == () and asked.count(frozenset({"%rd3"})) == 1
