"""Random specs, sketches and tensor functions: what Warploom reads in them against CPython running the same text.

    python -m benchmarks.fuzz --readers 3000
    python -m benchmarks.fuzz --only readers:17           one case again, with its text

Case k is a spec, a sketch or a tensor function, in turn; what is printed for a sketch is read back, too. Texts have constants
that are bound again, helpers defined twice, defaults, shadowed names, nested ifs and loops, early returns, chained comparisons,
values of conditions, of `and` and `or`, negative steps, floors, shifts, old values of augmented assignments. Numbers are exact:
Python's integers against 64-bit words; cases that leave those are skipped. Inputs are random, and beside them one solver's model
for each side of every min and max. Every third spec also runs on narrow and mixed integers, where prover, checker and reader
must agree.
"""

from __future__ import annotations

import linecache
import random
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
from benchmarks.fuzz.reader_texts import ReaderText, random_text

import warploom as wl
from warploom.core import UserError, i8, i16, i32, i64, integer_range, to_numpy, u8, u16, u32, u64
from warploom.gpu import cuda_source, read_back
from warploom.ir import run
from warploom.schedule.backbone import evaluate_program
from warploom.schedule.frontend import tensor
from warploom.sketch import parse_spec
from warploom.solve import Sat, Word, WordConst, WordOp, WordVar, differing_words
from warploom.synth.proof.concrete import TYPED_BUILTINS, typed_array, typed_values
from warploom.synth.proof.specs import call_spec
from warploom.synth.proof.symbolic import run_spec
from warploom.terms import Term, TermError, atom, evaluate, iterate_post, maximum, minimum

THREADS = 8
_LARGEST = 1 << 62
_MODELS = 4
_RLIMIT = 200_000
n = wl.size("n")


@wl.sketch(block=32, grid=wl.ceil_div(n, 32))
def arrays(x: wl.Global[i64, n], s: wl.Global[i64, n], y: wl.Global[i64, n]):
    """The parameters of every spec."""
    g = wl.global_id()
    if g < n:
        y[g] = x[g] + s[g]


class OutsideError(Exception):
    """A number left the words that both sides agree on."""


class Exact:
    """Python's integer, watched."""

    __slots__ = ("value",)

    def __init__(self, value: int) -> None:
        if abs(value) > _LARGEST:
            raise OutsideError
        self.value = value

    def __repr__(self) -> str:
        return str(self.value)

    def __bool__(self) -> bool:
        raise TypeError("control depends on data")


def _plain(value: Any) -> int:
    return value.value if isinstance(value, Exact) else int(value)


def _operator(name: str) -> Callable[..., Any]:
    def apply(a: Any, *others: Any) -> Any:
        if name.endswith("shift__") and _plain(others[0]) > 62:
            raise OutsideError
        found = getattr(_plain(a), name)(*map(_plain, others))
        return found if isinstance(found, bool) else Exact(found)

    return apply


for _name in ("add", "sub", "mul", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift"):
    setattr(Exact, f"__{_name}__", _operator(f"__{_name}__"))
    setattr(Exact, f"__r{_name}__", _operator(f"__r{_name}__"))
for _name in ("neg", "invert", "pos", "lt", "gt", "le", "ge", "abs"):
    setattr(Exact, f"__{_name}__", _operator(f"__{_name}__"))


class Cells:
    """A list that knows no negative index."""

    def __init__(self, values: Iterable[int]) -> None:
        self.values = [Exact(v) for v in values]

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, index: int) -> Any:
        if not 0 <= index < len(self.values):
            raise IndexError(index)
        return self.values[index]

    def __setitem__(self, index: int, value: Any) -> None:
        if not 0 <= index < len(self.values):
            raise IndexError(index)
        self.values[index] = Exact(_plain(value))

    @property
    def numbers(self) -> list[int]:
        return [v.value for v in self.values]


def check(case: int) -> tuple[str, str]:
    """How the case ended, and what is wrong with it ("": nothing)."""
    text = random_text(case)
    rng = random.Random(case)
    try:
        return {"spec": _check_spec, "sketch": _check_sketch, "tensor": _check_tensor}[text.kind](text, rng, case)
    except UserError as error:
        diagnostic = error.diagnostics[0]
        if diagnostic.span.line < 1 and diagnostic.code not in ("SIZES",):
            return "differs", f"an error without a place: {diagnostic.code}: {diagnostic.message}"
        return f"refused {text.kind}", ""
    except OutsideError:
        return "outside", ""


def given(case: int) -> str:
    return random_text(case).text


def loaded(text: str, name: str, known: Mapping[str, object]) -> dict[str, Any]:
    """The variables of `text` run as a module whose source can be read again."""
    file = f"<{name}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    variables: dict[str, Any] = {"__name__": file, **known}
    exec(compile(text, file, "exec"), variables)
    return variables


# ---------------------------------------------------------------- specs


def _check_spec(text: ReaderText, rng: random.Random, case: int) -> tuple[str, str]:
    spec = loaded(text.text, f"reader {case}", {"wl": wl})["spec"]
    size = rng.randint(1, 5)
    try:
        _python_spec(spec, [1] * size, [1] * size, size)
    except (IndexError, ZeroDivisionError, ValueError, UnboundLocalError):
        return _refused_as_python_does(spec, size)
    terms = run_spec(spec, arrays.kernel, {"n": size}).outputs["y"].ravel().tolist()
    try:
        read = parse_spec(spec, arrays.kernel)
    except UserError:
        read = None
    chosen = [*_models(terms), *({} for _ in range(2))]
    for model in chosen:
        x, s = ([model.get(f"{a}{k}", rng.randint(-9, 9)) for k in range(size)] for a in "xs")
        try:
            wanted = _python_spec(spec, x, s, size)
        except OutsideError:
            continue
        numbers = {"x": x, "s": s}
        found = evaluate(terms, i64, lambda t, numbers=numbers: numbers[t.data[0]][t.data[1][0]])
        if found is not None and found != wanted:
            return "differs", f"run_spec at x = {x}, s = {s}: {found}, Python: {wanted}"
        if read is not None:
            result = run(read, {a: np.array(v, np.int64) for a, v in {**numbers, "y": [0] * size}.items()}, {"n": size})
            if result.diagnostics or result.arrays["y"].tolist() != wanted:
                told = result.diagnostics[0].message if result.diagnostics else result.arrays["y"].tolist()
                return "differs", f"parse_spec at x = {x}, s = {s}: {told}, Python: {wanted}"
    if case % 9 == 0 and (told := _mixed(spec, size, rng)):
        return "differs", told
    return ("spec" if read is not None else "spec for one size"), ""


_WORDS = (i8, u8, i16, u16, i32, u32, i64, u64)


def _mixed(spec: Callable[..., None], size: int, rng: random.Random) -> str:
    """The spec on integers of other types: its terms, the checker's numbers and the interpreter on what is read."""
    types = {a: rng.choice(_WORDS) for a in "xsy"}
    kernel = replace(arrays.kernel, params=tuple(replace(p, dtype=types[p.name]) for p in arrays.kernel.params))
    numbers = {a: [rng.randint(*integer_range(t)) for _ in range(size)] for a, t in types.items() if a != "y"}
    dense = {a: np.array(numbers.get(a, [0] * size), to_numpy(t)) for a, t in types.items()}
    try:
        terms = run_spec(spec, kernel, {"n": size}).outputs["y"].ravel().tolist()
    except UserError:
        return ""  # a number that does not fit, say
    given = {a: typed_array(v, types[a]) for a, v in dense.items()}
    call_spec(spec, kernel, given, {"n": size}, TYPED_BUILTINS)
    wanted = typed_values(given["y"]).tolist()
    shown = f"{ {a: str(t) for a, t in types.items()} } at {numbers}"
    found = evaluate(terms, types["y"], lambda t: numbers[t.data[0]][t.data[1][0]], casts=True)
    if found is not None and found != wanted:
        return f"prover and checker, {shown}: {found}, {wanted}"
    try:
        result = run(parse_spec(spec, kernel), dense, {"n": size})
    except UserError:
        return ""
    if result.diagnostics or result.arrays["y"].tolist() != wanted:
        return f"reader and checker, {shown}: {result.arrays['y'].tolist()}, {wanted}"
    return ""


def _python_spec(spec: Callable[..., None], x: list[int], s: list[int], size: int) -> list[int]:
    y = Cells([0] * size)
    spec(x=Cells(x), s=Cells(s), y=y, n=size)
    return y.numbers


def _refused_as_python_does(spec: Callable[..., None], size: int) -> tuple[str, str]:
    """Python raises: the symbolic run must not go through."""
    try:
        run_spec(spec, arrays.kernel, {"n": size})
    except UserError:
        return "raises", ""
    return "differs", "Python raises, run_spec does not"


# ---------------------------------------------------------------- sketches


def _check_sketch(text: ReaderText, rng: random.Random, case: int) -> tuple[str, str]:
    kernel = loaded(text.text, f"reader {case}", {"wl": wl, "tid": wl.thread_id, "device": wl.device})["k"]
    kernel = wl.sketch(block=THREADS)(kernel).kernel
    x, s = ([rng.randint(-9, 9) for _ in range(THREADS)] for _ in "xs")
    y = Cells([0] * THREADS)
    try:
        for thread in range(THREADS):
            own = {"wl": wl, "tid": lambda thread=thread: thread, "device": lambda f: f}
            loaded(text.text, f"reader {case} as Python", own)["k"](Cells(x), Cells(s), y)
    except (IndexError, ZeroDivisionError, ValueError):
        return "raises", ""
    result = run(kernel, {"x": np.array(x, np.int64), "s": np.array(s, np.int64)}, {})
    if result.diagnostics or result.arrays["y"].tolist() != y.numbers:
        told = result.diagnostics[0].message if result.diagnostics else result.arrays["y"].tolist()
        return "differs", f"at x = {x}, s = {s}: {told}, Python: {y.numbers}"
    printed = read_back(cuda_source(kernel).text, kernel, rounds=1)
    if not printed.ok and printed.verdict == "refuted":
        return "differs", f"printed CUDA: {printed.diagnostics[0].message}"
    return "sketch", ""


# ---------------------------------------------------------------- tensor functions


class Grid:
    """A matrix for the texts of tensor functions, with `fill` outside where `pad` gave one."""

    def __init__(self, values: Mapping[tuple[int, ...], Any], fill: Any = None) -> None:
        self.values = values
        self.fill = fill

    def __getitem__(self, index: Any) -> Any:
        return self.values.get(index if isinstance(index, tuple) else (index,), self.fill)


def _check_tensor(text: ReaderText, rng: random.Random, case: int) -> tuple[str, str]:
    variables = loaded(text.text, f"reader {case}", {"wl": wl})
    function = tensor(variables["f"])
    sizes = {"m": rng.randint(1, 3), "n": rng.randint(1, 4)}
    program = function.program(sizes)
    shapes = {a.name: tuple(s.whole_at(sizes) for s in a.shape) for a in function.arrays}
    places = {name: list(np.ndindex(shapes[name])) for name in ("X", "Z")}
    number = {"f64": float, "i64": Exact}[text.dtype]
    models: list[Mapping[str, int]] = [{}, {}]
    if text.dtype == "i64":
        symbols = {a: {p: atom(a, p) for p in places[a]} for a in places}
        with suppress(TermError):  # powers of symbols
            terms = _python_tensor(text, variables, symbols, sizes, {"min": _least, "max": _greatest})
            models += _models([t for t in terms.values() if isinstance(t, Term)])
    for model in models:
        given = {a: {p: model.get(_name(a, p), rng.randint(-9, 9)) for p in places[a]} for a in places}
        try:
            exact = {a: {p: number(v) for p, v in cells.items()} for a, cells in given.items()}
            wanted = _python_tensor(text, variables, exact, sizes, {})
        except (OutsideError, OverflowError, ZeroDivisionError, ValueError):
            continue
        dense = {a: np.array([given[a][p] for p in places[a]]).reshape(shapes[a]) for a in places}
        found = evaluate_program(program, dense)["Y"]
        for place, value in wanted.items():
            mine = float(value) if text.dtype == "f64" else _plain(value)
            same = abs(found[place] - mine) <= 1e-9 * max(1.0, abs(mine)) if text.dtype == "f64" else int(found[place]) == mine
            if not same:
                return "differs", f"Y{list(place)} at {given}, {sizes}: {found[place]}, Python: {mine}"
    return "tensor", ""


def _python_tensor(
    text: ReaderText, variables: Mapping[str, Any], given: Mapping[str, Any], sizes: Mapping[str, int], names: Mapping[str, Any]
) -> dict[tuple[int, ...], Any]:
    """Every element by the text as Python has it: reductions as generators."""
    arrays = {name: Grid(values) for name, values in given.items()}
    known = {**variables, **arrays, **sizes, "pad": lambda a, v: Grid(a.values, v), **names}
    if "min" not in names:
        known |= {"min": min, "max": max}
    return {place: eval(text.python, dict(known, i=place[0], j=place[1])) for place in np.ndindex(sizes["m"], sizes["n"])}


def _least(*values: Any) -> Any:
    return _folded(minimum, values)


def _greatest(*values: Any) -> Any:
    return _folded(maximum, values)


def _folded(pair: Callable[[Any, Any], Any], values: tuple[Any, ...]) -> Any:
    items = list(values[0]) if len(values) == 1 else list(values)
    total = items[0]
    for item in items[1:]:
        total = pair(total, item)
    return total


# ---------------------------------------------------------------- solver-chosen inputs


def _models(terms: list[Any]) -> list[dict[str, int]]:
    """For each min and max an input on which one operand is not the result, for the first few."""
    found: list[dict[str, int]] = []
    sides = [(t, a) for root in terms for t in iterate_post(root) if t.op in ("min", "max") for a in t.args]
    for whole, side in list(dict.fromkeys(sides))[:_MODELS]:
        words = _word(whole), _word(side)
        if words[0] is None or words[1] is None:
            continue
        # narrow words keep the numbers small enough for both sides
        answer = differing_words(words[0], words[1], 12, is_signed=True, rlimit=_RLIMIT)
        if isinstance(answer, Sat):
            found.append(dict(answer.model))
    return found


def _name(array: str, place: tuple[int, ...]) -> str:
    return array + "_".join(map(str, place))


def _word(root: Term) -> Word | None:
    done: dict[Term, Word | None] = {}
    for term in iterate_post(root):
        if term.op == "atom":
            done[term] = WordVar(_name(term.data[0], term.data[1]))
        elif term.op == "constant":
            done[term] = WordConst(term.data[0]) if isinstance(term.data[0], int) else None
        else:
            parts = [done[a] for a in term.args]
            usable = [p for p in parts if p is not None]
            can = len(usable) == len(parts) and term.op in ("+", "-", "*", "&", "|", "^", "<<", ">>", "min", "max", "neg", "~")
            done[term] = WordOp(term.op, tuple(usable)) if can else None
    return done[root]
