"""Names mean what they are bound to when the function runs, whatever the text says."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from warploom.core import UnsupportedError, UserError
from warploom.scan import Loop, parse_module, read_loop, read_module, user_function
from warploom.scan.operators import expression as ex
from warploom.scan.operators.printing import python
from warploom.scan.reading.values import is_small


def loop(before: str, body: str, header: str = "for x in xs:", parameters: str = "xs") -> Loop:
    text = f"{before}\ndef f({parameters}):\n    a = 0\n    {header}\n        {body}\n    return a\n"
    return read_loop(parse_module(text, "f.py"), "f")


def step(before: str, body: str, header: str = "for x in xs:") -> str:
    return python(loop(before, body, header).states[0].step)


@pytest.mark.parametrize(
    ("before", "body", "wanted"),
    [
        ("inf = 10**9", "a = inf", "1000000000"),
        ("from math import inf", "a = -inf", "-inf"),
        ("K = 3\nif True:\n    K = 5", "a = K", "5"),
        ("K = 3\nK += 4", "a = K", "7"),
        ("K, L = 3, 4", "a = L", "4"),
        ("for K in (1, 2): pass", "a = K", "2"),
        ("import math as m\nm = m", "a = m.inf", "inf"),
        ("K = (2, 3)", "a = K[1]", "3"),
        ("def g(v): return v\ndef g(v): return v + 1", "a = g(x)", "x + 1"),
        ("def g(v): return v\nif True:\n    def g(v): return v * 2", "a = g(x)", "2 * x"),
        ("def g(v): return v\nh = g", "a = h(x)", "x"),
        ("def same(f): return f\n@same\ndef g(v): return v", "a = g(x)", "x"),
        ("def other(f):\n    def h(v): return v + 9\n    return h\n@other\ndef g(v): return v", "a = g(x)", "x + 9"),
        ("def make(k):\n    def g(v, w=k): return v * k + w\n    return g\ng = make(3)", "a = g(x)", "3 * x + 3"),
        ("K = 4\ndef g(v, w=K): return v + w\nK = 5", "a = g(x)", "x + 4"),
        ("def max(v, w): return v - w", "a = max(x, 1)", "x - 1"),
        ("max = min", "a = max(x, 1)", "min(1, x)"),
        ("K = 2\ndef g(v):\n    K = v\n    return K", "a = g(x) + K", "x + 2"),
        ("K = 0.5", "a = K", "0.5"),
        ("from fractions import Fraction\nK = Fraction(1, 4)", "a = K", "0.25"),
    ],
)
def test_names_mean_what_they_are_bound_to(before: str, body: str, wanted: str) -> None:
    assert step(before, body) == wanted


@pytest.mark.parametrize(
    ("before", "body", "message"),
    [
        (
            "import functools\n@functools.lru_cache\ndef g(v): return v",
            "a = g(x)",
            "expected a function that is known here, got g",
        ),
        ("g = lambda v: v", "a = g(x)", "expected a function that is known here, got g"),
        ("", "a = x.bit_length()", "expected a function that is known here, got a method of a value, x.bit_length"),
        ("class max: pass", "a = max(x, 1)", "expected a function that is known here, got max"),
        ("K = [1]", "a = K(x)", "expected a function that is known here, got K"),
        ("K = [1, None]", "a = K[0]", "expected a number, a truth value or text, got K: a value of type list"),
        ("K = float('nan')", "a = K", "expected a number, a truth value or text, got K: a value of type float"),
        ("K = 10**2000", "a = K", "expected a number, a truth value or text, got K: a value of type int"),
        ("K = 7", "a = K\n        K = x", "expected a value for 'K', got none on some path"),
        ("", "a = max(x, 1)\n        max = x", "expected a value for 'max', got none on some path"),
        ("class C: K = 3", "a = C.K", "expected a name or a value of a module, got C.K"),
        ("import math", "a = math.nothing", "expected a name or a value of a module, got math.nothing"),
        ("def g(v): return g(v)", "a = g(x)", "expected calls that end, got recursion"),
        ("def g(*v): return 1", "a = g(x)", "expected plain parameters, got v"),
        ("def g(v, *, w=1): return v", "a = g(x)", "expected plain parameters, got w"),
        ("def g(v):\n    yield v", "a = g(x)", "expected a function that is known here, got g"),
        ("def g(v): return v", "a = g()", "expected 1 arguments, got 0"),
        ("def g(v): return v", "a = g(x, x)", "expected 1 arguments, got 2"),
        ("", "g = x\n        a = g(x)", "expected a function, got the variable 'g'"),
        ("", "a = (lambda v: v)(x)", "expected a call of a named function"),
    ],
)
def test_what_is_not_served_is_said(before: str, body: str, message: str) -> None:
    with pytest.raises(UserError, match=r"^f\.py:\d+:\d+: error\[[A-Z_]+\]: " + message):
        loop(before, body)


@pytest.mark.parametrize(
    ("before", "header"),
    [
        ("def enumerate(v): return [(3, w) for w in v]", "for i, x in enumerate(xs):"),
        ("def zip(*v): return v", "for x, y in zip(xs, xs):"),
        ("def range(n): return [0]", "for i in range(len(xs)):"),
        ("def len(v): return 1", "for i in range(len(xs)):"),
    ],
)
def test_headers_use_the_builtins_themselves(before: str, header: str) -> None:
    with pytest.raises(UserError, match="expected a loop over a parameter"):
        loop(before, "a += 1", header)


def test_a_decorated_function_is_what_the_decorator_left() -> None:
    decorator = (
        "import functools\ndef twice(g):\n    @functools.wraps(g)\n    def h(xs): return 2 * g(xs)\n    return h\n@twice\n"
    )
    body = "def f(xs):\n    a = 0\n    for x in xs:\n        a += x\n    return a\n"
    with pytest.raises(UserError, match="expected 'f' to be a function of this file, it is bound to h, which its decorator put"):
        read_loop(parse_module(decorator + body), "f")
    with pytest.raises(UserError, match="it is bound to f, a _lru_cache_wrapper"):
        read_loop(parse_module("import functools\n@functools.cache\n" + body), "f")
    assert read_loop(parse_module("def same(g): return g\n@same\n" + body), "f").states


def test_the_file_is_run_once_and_its_output_kept_from_reports(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "beside_it.py").write_text("K = 3\n")
    path = tmp_path / "f.py"
    path.write_text(
        "from beside_it import K\nprint('hello')\ndef f(xs):\n    a = 0\n    for x in xs:\n        a += x * K\n    return a\n"
    )
    module = read_module(path)
    assert python(read_loop(module, "f").states[0].step) == "a + 3 * x"
    assert user_function(module, "f")([1, 2]) == 9
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("", "hello\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\n1 / 0\n", r"f\.py:2:1: error\[IMPORT_FAILED\]: running the file raised ZeroDivisionError"),
        ("raise SystemExit(3)\n", r"f\.py:1:1: error\[IMPORT_FAILED\]: running the file raised SystemExit"),
        ("def f(xs):\n    for x in xs:\n        yield x\n        yield x\n", "expected one result appended for every element"),
        ("f = ?? +\n", r"f\.py:1:\d+: error\[SYNTAX\][^\n]*\n  f = \?\? \+"),
        ("def f(xs):\n    return ??\n", r"expected a loop in f, got none"),
        ("f = 3\n", r"f\.py:1:1: error\[UNKNOWN_FUNCTION\]: expected 'f' to be a function of this file, it is bound to a value"),
        ("def f(xs: Missing):\n    for x in xs: pass\n", r"f\.py:1:\d+: error"),
        ("x = '\0'\n", r"f\.py:1:1: error\[SYNTAX\]: invalid Python"),
        (f"def f(xs):\n    a = 0\n    for x in xs:\n        a = {'-' * 700}x\n    return a\n", "f.py:1:1: error.*depth"),
    ],
)
def test_files_that_cannot_be_read(text: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        read_loop(parse_module(text, "f.py"), "f")


def test_places_show_the_text_as_written() -> None:
    module = parse_module("def f(x): return x * ??\n")
    assert module.span(module.functions["f"].node).source == "def f(x): return x * ??"


@pytest.mark.parametrize("before", ["", "from __future__ import annotations\n"])
@pytest.mark.parametrize("annotation", ["list[float]", "'list[float]'", "Alias", "Sequence[Real]"])
def test_annotations_are_evaluated(before: str, annotation: str) -> None:
    text = "from typing import *\nAlias = List[float]\nReal = Annotated[NewType('R', float), 'unit']\n"
    text += f"def f(xs: {annotation}):\n    a = 0\n    for x in xs: a += x\n    return a\n"
    assert read_loop(parse_module(before + text), "f").fields[0].sort.base == "real"


def test_annotations_that_cannot_be_evaluated() -> None:
    text = "from __future__ import annotations\ndef f(xs: list[Missing]):\n    a = 0\n    for x in xs: a += x\n    return a\n"
    with pytest.raises(UserError, match=r"f\.py:2:11: error\[ANNOTATION\]: expected a type, got list\[Missing\]: NameError"):
        read_loop(parse_module(text, "f.py"), "f")


def test_files_that_cannot_be_opened(tmp_path: Path) -> None:
    (tmp_path / "bytes.py").write_bytes(b"x = '\xff'\n")
    for name in ("missing.py", "bytes.py", "."):
        with pytest.raises(UserError, match=r"error\[FILE_NOT_FOUND\]: expected a Python file, cannot read "):
            read_module(tmp_path / name)


@pytest.mark.parametrize(
    "annotation",
    ["[int]", "list[{}]", "list[Literal[1, 'a']]", "list[Literal[True]]", "list[tuple[int, None]]", "list[tuple[int, ...]]"],
)
def test_annotations_that_are_no_types_of_elements(annotation: str) -> None:
    text = f"from typing import Literal\ndef f(xs: {annotation}):\n    a = 0\n    for x in xs: a += x\n    return a\n"
    with pytest.raises(UserError, match=r"expected .*int, bool, float, Fraction, str, .*, got "):
        read_loop(parse_module(text), "f")


def test_annotations_with_notes_of_any_kind() -> None:
    text = "from typing import Annotated\nR = Annotated[float, ['unit']]\n"
    text += "def f(xs: list[R]):\n    a = 0\n    for x in xs: a += x\n    return a"
    assert read_loop(parse_module(text), "f").fields[0].sort.base == "real"


def test_texts_that_python_cannot_hold() -> None:
    with pytest.raises(UserError, match=r"f\.py:1:1: error\[SYNTAX\]: invalid Python"):
        parse_module(f"x = {'-' * 20_000}1\n", "f.py")
    assert not is_small(None) and is_small(2**100) and not is_small(2**10_000)


def test_python_warns_when_the_file_is_run_and_not_before() -> None:
    """Warnings are errors here."""
    assert parse_module("def f(a):\n    return a is 1\n").text


HELPER = """\
import functools

STEP = 3


def plus(a, b):
    return a + b * STEP


@functools.cache
def kept(a, b):
    return a + b
"""
LOOP = "def total(xs: list[int]):\n    t = 0\n    for x in xs:\n        t = {}\n    return t\n"


@pytest.mark.parametrize("names", ["from made_helper import plus", "import made_helper\nplus = made_helper.plus"])
def test_a_helper_of_another_file_means_what_it_means_there(tmp_path: Path, names: str) -> None:
    (tmp_path / "made_helper.py").write_text(HELPER)
    (tmp_path / "loop.py").write_text(f"{names}\n\nSTEP = 5\n\n\n{LOOP.format('plus(t, x)')}")
    try:
        found = read_loop(read_module(tmp_path / "loop.py"), "total")
    finally:
        del sys.modules["made_helper"]
    (state,) = found.states
    assert state.step is ex.add(state.variable, ex.multiply(ex.constant(3), found.fields[0]))


@pytest.mark.parametrize("call", ["made_helper.kept(t, x)", "statistics.mean([t, x])"])
def test_helpers_that_are_not_what_their_text_says_or_belong_to_python(tmp_path: Path, call: str) -> None:
    (tmp_path / "made_helper.py").write_text(HELPER)
    (tmp_path / "loop.py").write_text(f"import made_helper, statistics\n\n\n{LOOP.format(call)}")
    try:
        with pytest.raises(UnsupportedError, match="expected a function that is known here"):
            read_loop(read_module(tmp_path / "loop.py"), "total")
    finally:
        del sys.modules["made_helper"]


def test_what_a_module_computes_when_it_is_asked_is_no_constant(tmp_path: Path) -> None:
    (tmp_path / "made_helper.py").write_text(
        "asked = []\ndef __getattr__(name):\n    asked.append(name)\n    return len(asked)\n"
    )
    (tmp_path / "loop.py").write_text(f"import made_helper\n\n\n{LOOP.format('t + made_helper.count')}")
    try:
        with pytest.raises(UnsupportedError, match="expected a name or a value of a module"):
            read_loop(read_module(tmp_path / "loop.py"), "total")
    finally:
        del sys.modules["made_helper"]
