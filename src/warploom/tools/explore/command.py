"""`warploom explore`: the fastest implementation of a kernel, found by search over its open decisions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from warploom.core import Diagnostic, UserError
from warploom.schedule.recurrences import RunningHolder
from warploom.schedule.sketches import TunableSketch
from warploom.schedule.targets import TARGETS, target
from warploom.tools.command.duration import duration
from warploom.tools.command.files import OUTPUT_FILE, require_name
from warploom.tools.command.guard import report
from warploom.tools.command.limited import limited_memory
from warploom.tools.command.lines import Line
from warploom.tools.command.options import DEBUG_OPTION, JSON_OPTION
from warploom.tools.command.outcome import Outcome, Progress
from warploom.tools.command.usage import Stopwatch
from warploom.tools.explore.place import check_place
from warploom.tools.explore.sketch import SketchOptions, explore_sketch, written
from warploom.tools.explore.target import explored

if TYPE_CHECKING:
    from warploom.schedule.search import StrategyName

STRATEGIES = ("refine", "mcts", "uct", "best-first")


def _folder(_context: click.Context, _option: click.Parameter, path: Path | None) -> Path | None:
    if path is not None and path.is_file():
        message = f"expected a folder for measurements, got the file {path}; --replay {path} judges an implementation from a file"
        raise click.BadParameter(message)
    return path


@click.command("explore")
@click.argument("kernel", metavar="KERNEL|FILE.py:FUNC")
@click.option(
    "--size",
    "sizes",
    metavar="NAME=N,...",
    multiple=True,
    help="Sizes of the kernel, such as m=1024,n=?,k=?:64: n is known at run time, k then a multiple of 64.",
)
@click.option(
    "--target",
    "--arch",
    "machine",
    default="cpu",
    show_default=True,
    help=f"Machine: cpu (this one), cuda (sm_90), or one of {', '.join(TARGETS)}.",
)
@click.option("--threads", type=click.IntRange(min=1), help="Threads that a CPU kernel uses; default: one per core.")
@click.option(
    "--budget",
    metavar="TIME",
    callback=duration,
    help="Limit on the wall time of search, check and proof together; default: 60s.",
)
@click.option(
    "--proof-budget",
    metavar="TIME",
    callback=duration,
    help="CPU time that the proof of a CUDA kernel may take beyond --budget; default: none, but 30s with --nodes alone.",
)
@limited_memory
@click.option("--nodes", type=click.IntRange(min=1), help="Stop after this many candidates (a repeatable budget).")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the search and of the test data.")
@click.option(
    "--space",
    type=click.Choice(["full", "paper"]),
    default="full",
    show_default=True,
    help="Space of GPU kernels: ours, or that of Telamon's paper (its GPU: --target k4000).",
)
@click.option(
    "--search", "strategy", type=click.Choice(STRATEGIES), help="Search strategy; default: refine; of sketches: depth first."
)
@click.option("--order", metavar="LIST", help="Order in which choices are decided: a list of choices, or `reverse`.")
@click.option(
    "--set",
    "fixed",
    metavar="CHOICE=VALUE",
    multiple=True,
    help="Fix a decision before the search, such as 'dim_kind(mad.n3)=VECTOR'.",
)
@click.option(
    "--journal",
    type=click.Path(path_type=Path),
    callback=_folder,
    metavar="DIRECTORY",
    help="Keep measurements in this folder; made if missing.",
)
@click.option("--cluster", metavar="ADDRESS", help="Compile on the Dask cluster whose scheduler has this address.")
@click.option("--estimate-size", "only_size", is_flag=True, help="Only estimate how many implementations there are.")
@click.option("--choices", "only_choices", is_flag=True, help="Only list the decisions that --set accepts, with their values.")
@click.option(
    "--replay",
    "file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Judge the implementation whose decisions this file holds; do not search.",
)
@click.option(
    "--code",
    metavar="FILE|DIR/",
    help="Write the C or CUDA C++ to this file; or into a folder C, a header, a Python module and a PyTorch operator.",
)
@click.option("--html", type=OUTPUT_FILE, help="Write an HTML page with the loop nest, its bottleneck and the code.")
@JSON_OPTION
@DEBUG_OPTION
def explore(
    kernel: str,
    sizes: tuple[str, ...],
    machine: str,
    threads: int | None,
    budget: float | None,
    proof_budget: float | None,
    nodes: int | None,
    seed: int,
    space: str,
    strategy: str | None,
    order: str | None,
    fixed: tuple[str, ...],
    journal: Path | None,
    cluster: str | None,
    only_size: bool,
    only_choices: bool,
    file: Path | None,
    code: str | None,
    html: Path | None,
    as_json: bool,
    debug: bool,
) -> None:
    """Search for the fastest implementation of a kernel: tile sizes, loops, threads, memory, order.

    KERNEL is a kernel of the library (matmul, softmax, ...), one of its sketches (conv2d-3, ...), or a function of a file: a
    tensor function, a sketch, or a family of sketches.
    """

    source = click.get_current_context().get_parameter_source("machine")
    is_target_given = source is not click.core.ParameterSource.DEFAULT

    # Imported here, and not by other commands: half of the package, before the clocks of the command start.
    from warploom.schedule.choices import Features
    from warploom.tools.explore.kernel import explore_tensor
    from warploom.tools.explore.options import KernelOptions, machine_of, sizes_of
    from warploom.tools.explore.package import check_known
    from warploom.tools.explore.run_time import asked_sizes

    def work(stopwatch: Stopwatch, progress: Progress) -> Outcome:
        found = explored(kernel)
        asked_for = asked_sizes(_pairs(sizes))
        named = asked_for.values
        decided = _decided(fixed)
        if file is not None and decided:
            message = "expected either --replay or --set, got both"
            raise UserError(Diagnostic("OPTION", message, fix="change the decision in a copy of the file's line"))
        require_name(code or "")
        place = None if code is None else Path(code)
        is_package = place is not None and (place.is_dir() or str(code).endswith("/"))
        check_place(place, is_folder=is_package)
        check_place(html)
        if isinstance(found, TunableSketch):
            _refuse(bool(asked_for.run_time), "tensor functions", "sizes known at run time")
            _refuse(only_size, "tensor functions", "--estimate-size")
            _refuse(space == "paper", "tensor functions", "--space paper")
            _refuse(is_package, "tensor functions", "--code DIR/")
            _refuse(journal is not None or cluster is not None, "tensor functions", "--journal and --cluster")
            asked = SketchOptions(
                arch_of_sketch(machine),
                named,
                budget,
                decided,
                only_choices,
                order_of(order),
                nodes,
                cast("StrategyName | None", strategy),
                seed,
                is_target_given,
                file,
                place,
                html,
            )
            return explore_sketch(kernel, found, asked, stopwatch, progress)
        if isinstance(found, RunningHolder):
            is_searched = only_size or only_choices or file is not None or bool(decided) or nodes is not None
            is_searched |= strategy is not None or order is not None or journal is not None or cluster is not None
            for is_asked, options in (
                (is_searched, "options of a search"),
                (bool(asked_for.run_time), "sizes known at run time"),
                (is_package or html is not None, "--code DIR/ and --html"),
            ):
                _refuse(is_asked, "tensor functions", options, "a function with a running result")
            from warploom.tools.explore.running import explore_running

            return explore_running(kernel, found.recurrence, machine, named, place, stopwatch, progress)
        if is_package and machine == "cpu":
            check_known(asked_for.run_time)
        sizes_of(found, named, asked_for.run_time)  # before the machine is measured, which takes seconds
        if machine == "cpu":
            progress("asking how fast this machine is, which is measured once")
        on, threads_used = machine_of(machine, threads)
        if is_package and on.kind != "cpu":
            message = f"expected a file for the CUDA C++ of {on.name}, got the folder {code}"
            raise UserError(Diagnostic("OPTION", message, fix="Name a file: --code kernel.cu."))
        if space == "paper" and not on.has_threads:
            message = f"expected a GPU for the paper's space, got {on.name}"
            raise UserError(Diagnostic("OPTION", message, fix="Name one: --target k4000."))
        options = KernelOptions(
            target=on,
            is_target_given=is_target_given,
            sizes=named,
            run_time=asked_for.run_time,
            threads=threads_used,
            budget_s=budget,
            proof_budget_s=proof_budget,
            nodes=nodes,
            seed=seed,
            strategy=cast("StrategyName | None", strategy),
            order=order_of(order),
            fixed=dict(decided),
            features=Features.paper() if space == "paper" else None,
            journal=journal,
            cluster=cluster,
            only_size=only_size,
            only_choices=only_choices,
            replayed=file,
            code=place,
            is_package=is_package,
            page=html,
        )
        return explore_tensor(kernel, found, options, stopwatch, progress)

    report(kernel, work, _summary, as_json=as_json, debug=debug)


def _summary(line: Line) -> Iterator[str]:
    """Summary for people."""
    if "space_size" in line:
        between = f"{line['space_size_low']:.2g} to {line['space_size_high']:.2g}"
        yield f"  {line['space_size']:.3g} implementations ({between}), {line['dead_end_share']:.2%} dead ends"
    if line.get("time_ms") is not None:
        speed = f", {line['gflops']} GFLOP/s" if line.get("gflops") else ""
        bound = "" if line["bound_ms"] is None else f"; bound {line['bound_ms']} ms"  # a search that ended before it had one
        yield f"  {line['time_ms']} ms ({_how(line)}){speed}{bound}"
        if line.get("kind") == "found" and line.get("time_over_plain"):
            yield f"  {1 / cast('float', line['time_over_plain']):.3g} times as fast as the plain loop ({line['plain_ms']} ms)"
        over = line.get("time_over_bound")
        if isinstance(over, float) and over > FAR:
            busy = "" if line.get("runs") is None else ", or the machine was busy"
            yield f"  {over:.3g} times its bound: what the bound does not know binds{busy}"
    if "terms_ms" in line:
        terms = sorted(cast("dict[str, float]", line["terms_ms"]).items(), key=lambda term: -term[1])
        yield "  " + ", ".join(f"{name}={written(value)}" for name, value in cast("dict[str, object]", line["decisions"]).items())
        yield f"  {line['binds']} binds; all bounds in ms: {', '.join(f'{name} {ms:.4g}' for name, ms in terms)}"
    yield from _judged(line)
    if "nodes" in line:
        yield f"  {line['nodes']} nodes, {line['pruned']} pruned, {line['dead_ends']} dead ends"
    if "note" in line:
        yield f"  note: {line['note']}"


def _judged(line: Line) -> Iterator[str]:
    """The class of sizes, where results were compared, and what is proved of them."""
    for name, told in cast("dict[str, dict[str, object]]", line.get("run_time", {})).items():
        multiple = f"every multiple of {told['multiple_of']}" if told["multiple_of"] != 1 else "every value"
        up_to = f" up to {told['up_to']}" if "up_to" in told else ""
        tested = f"; tested at {', '.join(map(str, cast('list[int]', told['tested'])))}" if "tested" in told else ""
        yield f"  {name}: {multiple}{up_to}{tested}"
    if "cases" in line:
        at = f" at {_sizes(line['tested_at'])}" if "tested_at" in line else ""
        yield f"  {line['cases']} elements compared with the function{at}"
    if "proved_at" in line:
        reason = cast("Line", line["proof"]).get("reason", "")
        yield f"  proved at {_sizes(line['proved_at'])}, not at the sizes asked for: {reason}"
    elif "proof_reason" in line:
        yield f"  not proved: {line['proof_reason']}"


def _sizes(sizes: object) -> str:
    return ", ".join(f"{name}={n}" for name, n in cast("dict[str, int]", sizes).items())


def _how(line: Line) -> str:
    if line.get("runs") is None:
        machine = f" for {line['arch']}" if "arch" in line else ""
        return str(line.get("time_is", "measured")) + machine
    busy = "; disturbed: other work kept the machine busy" if line.get("disturbed") else ""
    return f"measured, median of {line['runs']} runs, spread {line['spread']:.1%}{busy}"


FAR = 5.0
"""Times the bound from which on a result is said to be far above it."""


def arch_of_sketch(machine: str) -> str:
    """Sketches are CUDA kernels."""
    return target("cuda" if machine == "cpu" else machine).name


def _refuse(is_asked: bool, about: str, options: str, got: str = "a sketch") -> None:
    if is_asked:
        raise UserError(Diagnostic("OPTION", f"expected a kernel among {about} for {options}, got {got}"))


def _pairs(texts: tuple[str, ...]) -> list[tuple[str, str]]:
    return [_pair(text, "--size", "m=1024,n=1024") for given in texts for text in given.split(",") if text.strip()]


def _decided(texts: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    found: dict[str, str] = {}
    for text in texts:
        name, value = _pair(text, "--set", "dim_kind(mad.n3)=VECTOR")
        if found.setdefault(name, value) != value:
            message = f"expected one value of {name}, got {found[name]} and {value}"
            raise UserError(Diagnostic("OPTION", message, fix="Join the values that are allowed by |."))
    return tuple(found.items())


def _pair(text: str, option: str, example: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign or not name.strip() or not value.strip():
        raise UserError(Diagnostic("OPTION", f"expected NAME=VALUE for {option}, got {text!r}", fix=f"write {option} {example}"))
    return name.strip(), value.strip()


def order_of(text: str | None) -> tuple[str, ...] | None:
    """Choices, in the order in which they are decided."""
    if text is None:
        return None
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if not names:
        raise UserError(
            Diagnostic("OPTION", "expected choices, or `reverse`, for --order, got none", fix="write --order size,order")
        )
    return names
