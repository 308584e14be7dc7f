"""The read-back: right print passes, planted errors of the authors' generator (and others) are caught."""

from dataclasses import replace

import numpy as np
import pytest
from tests.gpu.kernels import TID, b, cmp, conv1d, loop, transpose
from tests.gpu.test_cuda_source import small

from warploom.core import UserError, f32, i8, i32, i64, u8, u32, u64
from warploom.gpu import cuda_source, read_back
from warploom.gpu.cvalues import Value, binary, convert
from warploom.ir import Arith, Declare, FromIndex, If, IndexVar, Read, Store, Sync, ValueConst, fill


def planted(old: str, new: str, which=conv1d) -> set[str]:
    """Codes that the read-back reports once `old` in the printed text is replaced."""
    kernel, completions = which()
    text = cuda_source(kernel, completions).text
    assert old in text, text
    result = read_back(text.replace(old, new, 1), fill(kernel, completions))
    assert not result.ok
    assert result.verdict == "refuted"
    return {d.code for d in result.diagnostics}


def rotating() -> tuple:
    """y[t] = the floor remainder of a difference that goes negative: registers rotated the other way."""
    body = (
        Declare("a", "register", i32, (3,)),
        loop("r", 3, Store("a", (IndexVar("r"),), Read("x", (b("+", TID, IndexVar("r")),)))),
        Store("y", (TID,), FromIndex(b("%", b("-", TID, 7), 3), i32)),
    )
    return small(*body), {}


def shared() -> tuple:
    body = (
        Declare("s", "shared", f32, (64,)), Store("s", (TID,), Read("x", (TID,))), Sync(),
        If(cmp("<", TID, 40), (Store("y", (TID,), Read("s", (b("-", 63, TID),))),)),
    )  # fmt: skip
    return small(*body, dtype=f32, block=64), {}


def test_remainder_of_a_negative_number() -> None:
    kernel, _ = rotating()
    text = cuda_source(kernel).text
    wrong = text.replace("(thread + 2) % 3", "(thread - 7) % 3")
    assert wrong != text
    result = read_back(wrong, kernel)
    assert {d.code for d in result.diagnostics} == {"READ_BACK_VALUE"}


def test_dropped_copy() -> None:
    assert "UNDEFINED_READ" in planted("t[i] = a_turned3[i * 3 % 5];", "", lambda: transpose(5))
    assert "UNDEFINED_READ" in planted("o[0] = t[0];", "", lambda: transpose(1))


def test_lost_loop() -> None:
    assert "READ_BACK_VALUE" in planted("for (int k = 1; k < 3; ++k) {", "{ int k = 1;")
    assert "READ_BACK_VALUE" in planted("k < 3", "k < 2")


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("lane >= k ? inp", "lane > k ? inp", "READ_BACK_VALUE"),
        ("sent, lane + k)", "sent, lane - k)", "READ_BACK_VALUE"),
        ("0xffffffff", "0x7fffffff", "SHUFFLE_MASK"),
        ("if (gid < n)", "if (gid <= n)", "OUT_OF_BOUNDS"),
        ("if (gid < n)", "if (gid + 1 < n)", "READ_BACK_VALUE"),
        ("at < n + 2 ? x[at]", "at < n + 3 ? x[at]", "OUT_OF_BOUNDS"),
        ("at < n + 2 ? x[at]", "at < n ? x[at]", "READ_BACK_VALUE"),
        ("const float got = __shfl", "float got; if (lane < 9) got = __shfl", "SHUFFLE_DIVERGENT"),
        ("grid_size((n + 127) / 128", "grid_size(n / 128", "READ_BACK_GRID"),
        ("block_size(128", "block_size(64", "READ_BACK_BLOCK"),
        ("stream>>>(x, w, y, n)", "stream>>>(w, x, y, n)", "READ_BACK_ARGUMENTS"),
        ("const int gid = block * 128", "const int gid = block * 2000000000", "SIGNED_OVERFLOW"),
    ],
)
def test_planted_errors(old: str, new: str, code: str) -> None:
    assert code in planted(old, new)


def test_lost_barrier_and_divergent_barrier() -> None:
    assert {"RACE", "READ_BACK_COUNT"} <= planted("  __syncthreads();\n", "", shared)
    assert "DIVERGENT_SYNC" in planted("__syncthreads();", "if (thread < 7) { __syncthreads(); }", shared)


@pytest.mark.parametrize(
    "first",
    [Store("s", (TID,), Read("x", (TID,))), Store("y", (TID,), Read("s", (b("-", 63, TID),)))],
    ids=["written twice", "read, then written"],
)
def test_a_barrier_that_is_lost_between_two_uses(first: Store) -> None:
    """A write after another thread's write, and after another thread's read."""
    again = b("-", 63, TID) if first.array == "s" else TID
    body = (
        Declare("s", "shared", f32, (64,)), Store("s", (b("-", 63, TID),), Read("x", (TID,))), Sync(),
        first, Sync(), Store("s", (again,), Read("x", (TID,))), Sync(), Store("y", (TID,), Read("s", (TID,))),
    )  # fmt: skip
    kernel = small(*body, dtype=f32, block=64)
    text = cuda_source(kernel).text
    assert read_back(text, kernel).ok
    one, two, three, four = text.split("  __syncthreads();\n")
    result = read_back("  __syncthreads();\n".join((one, two + three, four)), kernel)
    assert "RACE" in {d.code for d in result.diagnostics}


def test_right_text_passes_and_the_seed_decides() -> None:
    kernel, completions = conv1d()
    text = cuda_source(kernel, completions).text
    first = read_back(text, fill(kernel, completions), sizes=[{"n": 300}], rounds=1)
    assert (first.ok, first.verdict, first.checked) == (True, "tested", 300)
    assert first == read_back(text, fill(kernel, completions), sizes=[{"n": 300}], rounds=1)


def test_a_kernel_in_error_is_left_unchecked() -> None:
    kernel, _ = shared()
    wrong = replace(kernel, body=tuple(s for s in kernel.body if not isinstance(s, Sync)))
    result = read_back(cuda_source(wrong).text, wrong)
    assert (result.ok, result.verdict) == (False, "unchecked")


def test_other_texts_are_refused() -> None:
    kernel, completions = conv1d()
    for text in ("int main() {}", cuda_source(kernel, completions).text.replace("float out", "auto& out")):
        with pytest.raises(UserError, match="READ_BACK_SYNTAX"):
            read_back(text, fill(kernel, completions))


@pytest.mark.parametrize("dtype", [i8, i32, i64, u8, u32, u64], ids=str)
def test_quotients_that_round_down(dtype) -> None:
    """Also of negative numbers: by a number, by a power of two, by data, in vectors."""
    x, other = Read("x", (TID,)), Read("x", (b("+", TID, 32),))
    divisors = [ValueConst(k, dtype) for k in (7, 8, *((-3,) if dtype.kind == "int" else ()))]
    parts = [Arith(op, (x, d)) for op in ("//", "%") for d in (*divisors, Arith("|", (other, ValueConst(1, dtype))))]
    kernel = small(Store("y", (TID,), Arith("^", tuple(parts))), dtype=dtype)
    text = cuda_source(kernel).text
    assert read_back(text, kernel).ok, text
    for old, new in {"i8": [(">> 3", ">> 2"), ("q - 1", "q")], "i32": [("r + b", "r")], "i64": [("q - 1", "q")]}.get(
        str(dtype), ()
    ):
        wrong = text.replace(old, new)
        assert wrong != text and {d.code for d in read_back(wrong, kernel).diagnostics} == {"READ_BACK_VALUE"}, wrong


def test_c_arithmetic_of_the_machine() -> None:
    def two(op: str, a: int, other: int, types: tuple[str, str] = ("i32", "i32")) -> tuple[str, int]:
        sides = [convert(Value("i64", np.array([v], np.int64)), t) for v, t in zip((a, other), types, strict=True)]
        result = binary(op, sides[0], sides[1], np.ones(1, bool), lambda code, message, where: None)
        return result.type, int(result.data[0])

    assert two("/", -7, 2) == ("i32", -3)
    assert two("%", -7, 2) == ("i32", -1)
    assert two("%", 7, -3) == ("i32", 1)
    assert two(">>", -7, 1) == ("i32", -4)
    assert two("-", 0, 1, ("u32", "i32")) == ("u32", 2**32 - 1)
    assert two("<", -1, 1, ("i32", "u32")) == ("bool", 0)
    assert two("+", 200, 100, ("u8", "u8")) == ("i32", 300)
    assert two("*", 2**31 - 1, 2) == ("i32", -2)
    assert two("+", 2**31 - 1, 1, ("i32", "i64")) == ("i64", 2**31)
