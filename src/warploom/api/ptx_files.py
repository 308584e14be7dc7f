"""`wl.prove_ptx`, `wl.shuffle_ptx`, `wl.run_ptx`: PTX of any compiler, as text or as a file."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast

from numpy.typing import NDArray

from warploom.api.result import Progress, Result, text_and_file, worked
from warploom.core import Diagnostic, UserError
from warploom.ptx import Counts, Finding, Launch, Program, launch
from warploom.ptx.shuffle import MAX_DELTA, KernelReport, Mode, ShuffleOptions
from warploom.tools.command.lines import EXIT_BY_STATUS, plain_line
from warploom.tools.command.outcome import Outcome, nothing_said
from warploom.tools.command.usage import Stopwatch
from warploom.tools.ptx.arguments import Triple, triple
from warploom.tools.ptx.check import good_program, read_good_ptx
from warploom.tools.ptx.prove import prove_program
from warploom.tools.ptx.run import launch_outcome
from warploom.tools.ptx.shuffle import ASSUMPTIONS, Shuffled, policy_of, shuffled

Extents: TypeAlias = int | Sequence[int]
"""Size of a grid or a block: x, or up to three numbers."""
Assumption: TypeAlias = Literal["nsw", "aligned", "noalias"]
"""Assumptions that `shuffle_ptx` may make."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ProvedPtx(Result):
    """A kernel of a PTX file and its spec."""

    @property
    def differing(self) -> dict[str, object]:
        """The element that refutes it: `array`, `index`, `expected`, `found`, `line`, and the `values` (`expected`, `found`) of a
        run at the numbers in `witness`, of which those of `deciding` matter; empty otherwise."""
        return cast("dict[str, object]", self.line.get("differing", {}))

    @property
    def race(self) -> dict[str, object]:
        """The race that refutes it: `element`, and the `first` and `second` access; empty otherwise."""
        return cast("dict[str, object]", self.line.get("race", {}))


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ShuffledPtx(Result):
    """A PTX file with loads replaced by shuffles."""

    text: str
    """The new file; the old one where ptxas refused the new."""
    reports: tuple[KernelReport, ...]
    """Report on the loads of each kernel: what became of them, and why."""

    @property
    def summary(self) -> str:
        """One sentence on what became of all loads."""
        return str(self.line.get("summary", ""))

    @property
    def loads(self) -> int:
        """Number of loads in all kernels."""
        return sum(report.loads for report in self.reports)

    @property
    def applied(self) -> int:
        """Loads that were replaced."""
        return sum(len(report.applied) for report in self.reports)

    def _texts(self) -> Mapping[str, Callable[[], str]]:
        return {**super()._texts(), ".ptx": lambda: self.text}


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class RanPtx(Result):
    """A launch of a kernel in the interpreter."""

    launch: Launch | None
    """The interpreter's report; None when it was stopped."""

    @property
    def arrays(self) -> dict[int, NDArray[Any]]:
        """By index of the argument: the arrays after the launch (copies)."""
        return {} if self.launch is None else dict(self.launch.arrays)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Races, reads of what was never written, accesses out of bounds, and other mistakes, with their places."""
        return () if self.launch is None else self.launch.findings

    @property
    def counts(self) -> Counts | None:
        """Instructions, sectors, wavefronts, when asked for."""
        return None if self.launch is None else self.launch.counts

    @property
    def printed(self) -> tuple[str, ...]:
        """Texts of printf."""
        return () if self.launch is None else self.launch.printed


def prove_ptx(
    ptx: str | Path,
    spec: Callable[..., Any],
    *,
    grid: Extents,
    block: Extents,
    args: Mapping[int, str] | None = None,
    symbols: Mapping[str, str] | None = None,
    kernel: str | None = None,
    shared_bytes: int = 0,
    algebra: str | None = None,
    budget_s: float | None = None,
) -> ProvedPtx:
    """Proves a kernel against a plain Python spec: every store, every race, on symbolic data. `warploom ptx prove`.

    ptx: a text of several lines, or a path. spec: takes the kernel's parameters in their order. grid, block: blocks, and
    threads of a block. args: index of a parameter -> `f32[1024]`, `zeros:f32[1024]`, `i32:1024`, `f32`; annotations and
    defaults of the spec say the others. symbols: variables of the module, in the same words. kernel: may be left out when
    there is one. shared_bytes: dynamic shared memory. algebra: laws for the comparison. budget_s: CPU seconds. Raises
    UserError for bad input.
    """
    if not callable(spec):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UserError(Diagnostic("SPEC_NOT_FOUND", f"expected a Python function as the spec, got {spec!r}"))
    program, file = _program(ptx)
    shape = _triple(grid, "grid"), _triple(block, "block")
    given = tuple(f"{index}={text}" for index, text in (args or {}).items())
    told = tuple(f"{name}={text}" for name, text in (symbols or {}).items())

    def work(watch: Stopwatch) -> Outcome:
        return prove_program(
            file, program, kernel, spec, shape, given, watch, symbol_texts=told, shared_bytes=shared_bytes, algebra=algebra
        )

    return ProvedPtx(line=worked(file, work, budget_s).line)


def shuffle_ptx(
    ptx: str | Path,
    *,
    policy: Literal["profitable", "all", "none"] = "profitable",
    mode: Mode = "shuffle",
    max_delta: int = MAX_DELTA,
    max_rows: int | None = None,
    shared: bool = False,
    vectors: bool = False,
    assume: Assumption | Sequence[Assumption] = (),
    arch: str | None = None,
    budget_s: float | None = None,
    progress: Progress | None = None,
) -> ShuffledPtx:
    """Replaces global loads by warp shuffles where another lane has loaded the value. `warploom ptx shuffle`.

    ptx: a text of several lines, or a path. policy: cover what is expected to pay, all that can be, none. mode: `cache` lets
    a full warp load in one go what its outer lanes lack. max_delta, max_rows: the farthest lane and row to take a value from.
    shared: cover loads of shared memory, too. vectors: join loads of adjacent words by one thread into vector loads. assume: what
    is taken for granted instead of tested, and told in the kernel's `domain`: `nsw` (signed index arithmetic does not wrap),
    `aligned` (arrays begin at multiples of 16 bytes), `noalias` (what is written through a pointer parameter is read through no
    other). arch: for registers and profit; None: the file's own. budget_s: CPU seconds.
    Raises UserError for bad input.
    """
    if policy not in ("profitable", "all", "none") or mode not in ("shuffle", "cache"):
        message = f"expected the policy profitable, all or none and the mode shuffle or cache, got {policy!r} and {mode!r}"
        raise UserError(Diagnostic("OPTION", message))
    if not 0 <= max_delta <= MAX_DELTA or not (max_rows is None or 0 <= max_rows <= MAX_DELTA):
        message = f"expected distances from 0 to {MAX_DELTA}, got max_delta={max_delta} and max_rows={max_rows}"
        raise UserError(Diagnostic("OPTION", message))
    if arch is not None and not re.fullmatch(r"sm_\d{2,3}[af]?", arch):
        raise UserError(Diagnostic("OPTION", f"expected an architecture such as sm_90, got {arch!r}"))
    wanted = (assume,) if isinstance(assume, str) else tuple(assume)
    if unknown := [each for each in wanted if each not in ASSUMPTIONS]:
        raise UserError(Diagnostic("OPTION", f"expected assumptions among {', '.join(ASSUMPTIONS)}, got {unknown[0]!r}"))
    program, file = _program(ptx)
    options = ShuffleOptions(
        policy=policy_of(policy, arch), max_delta=max_delta, max_rows=max_rows, mode=mode, shared=shared, vectors=vectors,
        assume_nsw="nsw" in wanted, assume_aligned="aligned" in wanted, noalias="noalias" in wanted,
    )  # fmt: skip
    made: list[Shuffled] = []

    def work(watch: Stopwatch) -> Outcome:
        (progress or nothing_said)("looking for loads that other lanes made")
        made.append(shuffled(program.module, options, arch))
        found = made[0]
        if found.refused:
            line = plain_line(file, "error", watch.read(), reason=f"ptxas refused the rewritten file: {found.refused}")
            return Outcome(line, EXIT_BY_STATUS["error"])
        line = plain_line(
            file, "solved", watch.read(), summary=found.summary, arch=found.arch, counted="model", kernels=found.kernels
        )
        return Outcome(line, EXIT_BY_STATUS["solved"])

    outcome = worked(file, work, budget_s)
    text, reports = (made[0].text, made[0].reports) if made else (program.module.text, ())
    return ShuffledPtx(line=outcome.line, text=text, reports=reports)


def run_ptx(
    ptx: str | Path,
    args: Sequence[Any],
    *,
    grid: Extents,
    block: Extents,
    kernel: str | None = None,
    cluster: Extents | None = None,
    cooperative: bool = False,
    symbols: Mapping[str, NDArray[Any]] | None = None,
    shared_bytes: int = 0,
    counts: bool = False,
    checks: bool = True,
    limit: int | None = None,
    budget_s: float | None = None,
) -> RanPtx:
    """Runs a kernel on arrays, without a GPU; finds its mistakes and counts what it costs. `warploom ptx run`.

    ptx: a text of several lines, or a path. args: in the order of the parameters, arrays for pointers and numbers for others;
    they are left as they are. cluster: blocks of a cluster; None: as `.reqnctapercluster` says. cooperative: blocks may wait for
    their grid. symbols: what variables of the module hold. counts: count (slower). checks: look for races and for what was never
    written. limit: instructions times threads before it gives up. budget_s: CPU seconds. Raises UserError for bad input.
    """
    program, file = _program(ptx)
    name = program.kernel(kernel).name
    shape = _triple(grid, "grid"), _triple(block, "block")
    ran: list[Launch] = []

    def work(watch: Stopwatch) -> Outcome:
        ran.append(
            launch(
                program, name, grid=shape[0], block=shape[1], args=args, symbols=symbols, dynamic_shared_bytes=shared_bytes,
                counts=counts, checks=checks, limit=limit, cluster=None if cluster is None else _triple(cluster, "cluster"),
                cooperative=cooperative,
            )
        )  # fmt: skip
        return launch_outcome(f"{file}:{name}", ran[0], (), watch)

    outcome = worked(f"{file}:{name}", work, budget_s)
    return RanPtx(line=outcome.line, launch=ran[0] if ran else None)


def _program(ptx: str | Path) -> tuple[Program, str]:
    text, file = text_and_file(ptx, lambda given: "\n" in given)
    return (read_good_ptx(file) if text is None else good_program(text, file)), file


def _triple(extents: Extents, what: str) -> Triple:
    parts = (extents,) if isinstance(extents, int) else tuple(extents)
    return triple(",".join(map(str, parts)), what, "")
