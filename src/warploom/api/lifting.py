"""`wl.lift`: associative operators out of serial loops, and kernels of them. `wl.check_operator`: whether a function is one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

from warploom import scan
from warploom.api.result import Progress, Result, no_answer, worked
from warploom.core import Diagnostic, UserError
from warploom.scan.networks import NAMED
from warploom.tools.command.outcome import Outcome, nothing_said
from warploom.tools.command.usage import Stopwatch
from warploom.tools.scan.lift import checked_outcome, checking_of, fixed, lifting_of, outcome_of

if TYPE_CHECKING:
    from warploom.scan.emit import Target


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Emitted(Result):
    """A kernel, functor or module of a lifted loop, run against the loop where its compiler is installed."""

    source: str
    """The text; empty where none was made."""
    target: Target
    """`cuda`, `cub`, `triton`, `numba` or `numpy`."""

    def _texts(self) -> Mapping[str, Callable[[], str]]:
        suffix = ".cu" if self.target in ("cuda", "cub") else ".py"
        return {**super()._texts(), **({suffix: lambda: self.source} if self.source else {})}


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Lifted(Result):
    """A serial loop and the associative operator that computes it."""

    module: scan.Module
    """The text that the loop stands in."""
    lifting: scan.Lifting | None
    """The engine's report; None when it was stopped."""

    @property
    def kind(self) -> str:
        """`scan` or `reduction`; empty without an answer."""
        return str(self.line.get("kind", ""))

    @property
    def fields(self) -> tuple[str, ...]:
        """Fields of one value of the operator, as `name: type`."""
        return tuple(cast("list[str]", self.line.get("fields", ())))

    @property
    def auxiliaries(self) -> tuple[str, ...]:
        """Names of the fields that the loop does not have."""
        return tuple(cast("list[str]", self.line.get("auxiliaries", ())))

    @property
    def operator(self) -> str:
        """Python text of the operator, a function of two values."""
        return str(self.line.get("operator", ""))

    @property
    def element(self) -> str:
        """Python text of the function that makes a value of one element."""
        return str(self.line.get("lift", ""))

    @property
    def identity(self) -> str:
        """Python text of the operator's identity."""
        return str(self.line.get("identity", ""))

    @property
    def projection(self) -> str:
        """Python text of the function that takes the loop's result out of a value."""
        return str(self.line.get("projection", ""))

    @property
    def source(self) -> str:
        """A Python module with `lift`, `operator`, `identity` and `projection`. UserError: NO_ANSWER."""
        if self.lifting is None or self.lifting.operator is None:
            raise no_answer(self, "the operator's module")
        return self.lifting.operator.source()

    def emit(
        self,
        target: Target,
        *,
        whole: Literal["int32", "int64"] = "int32",
        real: Literal["float32", "float64"] = "float32",
        network: str = "kogge-stone",
        threads: int = 256,
        items: int | None = None,
        backward: bool = False,
        segmented: bool = False,
        by_key: bool = False,
        layout: Literal["none", "padding", "swizzle", "table", "best"] | None = None,
        block_network: str | None = None,
        check: bool = True,
    ) -> Emitted:
        """The operator and its scan for a GPU or NumPy, run against the loop. `warploom scan emit`.

        whole, real: machine types of numbers. network, threads, items: of `cuda`. backward, segmented, by_key: which scan
        (`cuda`); by_key alone: an array of keys, of which equal neighbours are of one segment.
        layout, block_network: add kernels on cells of shared memory (`cuda`). check: run it, and prove the data movement.
        Raises UserError for what the target cannot express, and without an answer (NO_ANSWER).
        """
        from warploom.scan.emit import TARGETS, Choices, Types  # its printers and proofs load half of the package
        from warploom.tools.scan.emit import KINDS, LAYOUTS, asked_for, emitted_loop

        _check_choice("target", target, TARGETS)
        _check_choice("whole", whole, KINDS[:2])
        _check_choice("real", real, KINDS[2:])
        _check_choice("network", network, sorted(NAMED))
        if layout is not None:
            _check_choice("layout", layout, LAYOUTS)
        if not 32 <= threads <= 1024 or not (items is None or 1 <= items <= 32):
            message = f"expected 32 to 1024 threads and 1 to 32 items, got {threads} and {items}"
            raise UserError(Diagnostic("BAD_THREADS", message))
        lifting, name = self.lifting, self.case
        if lifting is None or lifting.operator is None:
            raise no_answer(self, "a kernel")
        texts: list[str] = []

        def work(watch: Stopwatch) -> Outcome:
            types, choices = Types(whole, real), Choices(network, threads, items)
            asked = asked_for(threads, backward, segmented, layout, block_network, by_key)
            outcome, text = emitted_loop(
                f"{name}:{target}", self.module, name, lifting, target, types, choices, check, watch, asked=asked
            )
            texts.append(text)
            return outcome

        outcome = worked(f"{name}:{target}", work, None)
        return Emitted(line=outcome.line, source="".join(texts), target=target)

    def _texts(self) -> Mapping[str, Callable[[], str]]:
        has_operator = self.lifting is not None and self.lifting.operator is not None
        return {**super()._texts(), **({".py": lambda: self.source} if has_operator else {})}


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class CheckedOperator(Result):
    """Whether a function of two values is associative."""

    @property
    def identity(self) -> str | None:
        """Python text of the identity; None where none was found."""
        return cast("str | None", self.line.get("identity"))

    @property
    def counterexample(self) -> dict[str, str]:
        """Values `a`, `b`, `c` and both sides, `left` and `right`, that refute it; empty otherwise."""
        return cast("dict[str, str]", self.line.get("counterexample", {}))

    @property
    def fixed(self) -> dict[str, Any] | None:
        """With `fix`: a lawful operator with its `lift`, `identity` and `projection` as Python text, what it `computes`, and the
        `domain` of the proof. None where none was found: `line["fix_reason"]` says why."""
        return cast("dict[str, Any] | None", self.line.get("fixed"))

    @property
    def notes(self) -> tuple[str, ...]:
        """Further notes on the answer, as sentences."""
        return tuple(cast("list[str]", self.line.get("notes", ())))


def lift(
    function: Callable[..., Any],
    *,
    keep: Sequence[str] = (),
    style: scan.Style | None = None,
    budget_s: float | None = None,
    progress: Progress | None = None,
) -> Lifted:
    """Finds the associative operator that computes a serial loop, and proves it for all inputs and lengths. `warploom scan lift`.

    function: a plain Python function with one loop; its text is read. keep: variables of the loop to be kept in any case. style:
    a hint, how values combine. budget_s: CPU seconds. Raises UserError for a function that is not such a loop.
    """
    if style is not None:
        _check_choice("style", style, ("affine", "greatest", "least"))
    module = scan.module_of(function)
    name = function.__name__
    found: list[scan.Lifting] = []

    def work(watch: Stopwatch) -> Outcome:
        (progress or nothing_said)("closing under composition")
        found.append(lifting_of(module, name, keep, style))
        return outcome_of(name, found[0], watch)

    outcome = worked(name, work, budget_s)
    return Lifted(line=outcome.line, module=module, lifting=found[0] if found else None)


def check_operator(function: Callable[..., Any], *, fix: bool = False, budget_s: float | None = None) -> CheckedOperator:
    """Proves that a function of two values is associative, or refuses it with a counterexample. `warploom scan check`.

    fix: offers a lawful operator, too (`fixed`). budget_s: CPU seconds. Raises UserError for a function that cannot be read as an
    operator.
    """
    module = scan.module_of(function)
    name = function.__name__

    def work(watch: Stopwatch) -> Outcome:
        result, more = checking_of(module, name), None
        if fix:
            result, more = fixed(result, scan.user_function(module, name))
        return checked_outcome(name, result, watch, more)

    outcome = worked(name, work, budget_s)
    return CheckedOperator(line=outcome.line)


def _check_choice(what: str, got: str, known: Sequence[str]) -> None:
    if got not in known:
        raise UserError(Diagnostic("OPTION", f"expected one of {', '.join(known)} as {what}, got {got!r}"))
