"""Where the rows of each paper come from."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from warploom.kernels import PUBLISHED
from warploom.kernels.kernelgen import KERNELGEN, LATENCIES, OUTCOMES, STALL_CHANGES, STALLS, SUMMARIES, SYNTHESIS
from warploom.tools.bench.ablations import BUDGET_S, FULL, SPACES, ablation_case
from warploom.tools.bench.case import Case
from warploom.tools.bench.kernels import kernel_case
from warploom.tools.bench.programs import MEASURABLE_S, program_case
from warploom.tools.bench.ptx import ptx_case
from warploom.tools.bench.ptx_registers import registers_case
from warploom.tools.bench.ptx_stalls import MEAN, REASONS, stalls_case
from warploom.tools.bench.scan import NAMES as SCAN_NAMES
from warploom.tools.bench.scan import scan_case
from warploom.tools.bench.schedule import schedule_case
from warploom.tools.bench.schedule_tables import ORDERS
from warploom.tools.bench.schedule_tables import PUBLISHED as SPACES_PUBLISHED
from warploom.tools.bench.synth import LIMIT_S
from warploom.tools.bench.wall_transposes import LANES, transpose_case
from warploom.tools.papers.rows import Row, Run, items, lines_of

LISTINGS = Path(__file__).parents[4] / "examples" / "papers"
GAVE_UP_S = 1800.0
"""Swizzle Inventor's limit for a dash in its tables."""
TABLE_S = {"table2": 15.0, "table3": 240.0, "table3/order": 60.0}
"""Limits in CPU seconds of the cases of Telamon's tables; counting level 10 of a tree takes 110 to 230, walks take what they are
given. All five papers have to fit into half an hour.
"""
_NOISE_S = 0.1
"""CPU seconds; where theirs and ours are shorter, two runs of one case differ by more than they do."""
_FEW_WALKS = 0.05
"""Share of dead ends: one of the 25 to 50 walks that the limit allows is 0.02 to 0.04, so shares below are not told apart."""
_OF_ALL = "a number about all rows of this item, which must be run together"
_WRONG = "sf/hvx-gaussian-blocks"
"""The case of which the authors' tool finds none of the solutions."""


def swizzle_inventor() -> Iterator[Row]:
    for line in lines_of("swizzle-inventor"):
        match line["item"]:
            case "table-1":
                yield from _spaces(line)
            case "table-2":
                yield from _without(line)
            case "table-3":
                yield _transpose(line["m"], line["theirs"], line.get("quick", False))
            case _:
                yield _figure(line)
    of_all: dict[str, Any] = {"paper": "swizzle-inventor", "item": "table-1", "unit": "s", "of": "TTS", "reason": _OF_ALL}
    yield Row(**of_all, name="median TTS of all kernels", theirs=5.0, summary="median")
    yield Row(
        **of_all, name="greatest TTS of all kernels", theirs=1020.0, summary="greatest", note="the paper: within 17 minutes"
    )


def _spaces(line: Mapping[str, Any]) -> Iterator[Row]:
    """A row of Table 1: the three spaces, then the time to the first optimal solution."""
    measured = [*line["authors_tool"], None]
    for number, configuration in enumerate((*SPACES, FULL), 1):
        expected = "unsat" if number in line.get("unsat", ()) else "solved"
        theirs = line["theirs"][number - 1]
        yield Row(
            paper="swizzle-inventor",
            item="table-1",
            name=f"{line['row']}, {'TTS' if configuration == FULL else f'space {number}'}",
            unit="s",
            theirs=GAVE_UP_S if theirs is None else theirs,
            is_limit=theirs is None,
            authors_tool=measured[number - 1],
            run=Run(_ablation(line["case"], configuration), expected=expected),
            rounded_to=1.0,
            is_quick=bool(line.get("quick")),
            note="; ".join(
                part for part in ("no solution in this space" if expected == "unsat" else "", line.get("note", "")) if part
            ),
        )


def _without(line: Mapping[str, Any]) -> Iterator[Row]:
    """A row of Table 2."""
    for theirs, configuration in zip(line["theirs"], (FULL, "naive-1", "naive-2", "no-accumulators"), strict=True):
        expected = "unsat" if configuration in line.get("unsat", ()) else "solved"
        yield Row(
            paper="swizzle-inventor",
            item="table-2",
            name=f"{line['row']}, {configuration}",
            unit="s",
            theirs=GAVE_UP_S if theirs is None else theirs,
            is_limit=theirs is None,
            run=Run(_ablation(line["case"], configuration), expected=expected),
            rounded_to=1.0,
            is_quick=bool(line.get("quick")) and configuration != "no-accumulators",
            note="no solution within this depth" if expected == "unsat" else "",
        )


def _ablation(name: str, configuration: str) -> Case:
    return ablation_case(name, configuration, BUDGET_S, 0)


def _transpose(m: int, theirs: int | None, is_quick: bool) -> Row:
    """`theirs` is the price of the paper's steps: `synth.transposes.table_cost`."""
    if m == LANES:
        kind = "m = n"
    elif m % LANES == 0:
        kind = "n divides m"
    elif LANES % m == 0:
        kind = "m divides n"
    else:
        kind = "coprime" if m % 2 else "1 < gcd < m, n"
    return Row(
        paper="swizzle-inventor",
        item="table-3",
        name=f"{m} x {LANES}, {kind}",
        unit="operations",
        theirs=theirs,
        run=Run(transpose_case(f"wall/crc-{m}", LIMIT_S), "cost"),
        is_quick=is_quick,
        note=""
        if theirs is not None
        else "the steps printed for this class give no transpose of this size, so they have no price",
    )


def _figure(line: Mapping[str, Any]) -> Row:
    """Where the line has no field, a kernel of `bench kernels` beside its shared-memory baseline."""
    if "reason" in line:
        run = None
    elif "field" in line:
        run = Run(_ablation(line["case"], line["configuration"]), line["field"])
    else:
        run = Run(kernel_case(line["case"], of_paper=True), "exchange_ratio", on_gpu="speedup")
    return Row(
        paper="swizzle-inventor",
        item=line["item"],
        name=line["row"],
        unit=line.get("unit", "exchanges over the baseline's"),
        theirs=line.get("theirs"),
        run=run,
        better="less" if "field" in line else "",
        is_quick=bool(line.get("quick")),
        reason=line.get("reason", ""),
    )


def swizzleflow() -> Iterator[Row]:
    for line in lines_of("swizzleflow"):
        name, alone_s = line["case"], PUBLISHED[line["case"]]
        case = program_case(name, "all", {}, LIMIT_S)
        expected = "unsat" if alone_s.solutions == 0 and name != _WRONG else "solved"
        shared: dict[str, Any] = {"paper": "swizzleflow", "name": name, "is_quick": bool(line.get("quick"))}
        yield Row(
            **shared,
            item="figure-9" if "hvx" in name else "figure-10",
            unit="s",
            theirs=line["figure_10_s"],
            authors_tool=alone_s.cpu_s,
            run=Run(case, expected=expected),
            better="" if name == _WRONG else "less",
            floor=_NOISE_S,
            note="the authors' tool misses the four solutions" if name == _WRONG else "",
        )
        if line["ineffectiveness"] is not None:
            yield Row(
                **shared,
                item="figure-11",
                unit="tested / oracle",
                authors_tool=line["ineffectiveness"],
                run=Run(case, "ineffectiveness", expected=expected),
            )
        if alone_s.cpu_s >= MEASURABLE_S:
            yield Row(
                **shared,
                item="figure-12",
                unit="s",
                authors_tool=line["search_s"],
                run=Run(case, "phases.search", expected=expected),
                better="",
            )
        if "swizzle_inventor_s" in line:
            inventor_s = line["swizzle_inventor_s"]
            yield Row(
                **shared,
                item="figure-13",
                unit="times faster",
                authors_tool=round(inventor_s / alone_s.cpu_s, 2) if alone_s.cpu_s else None,
                run=Run(case, over=inventor_s, expected=expected),
                better="more" if alone_s.cpu_s >= _NOISE_S else "",
            )

    of_all: dict[str, Any] = {"paper": "swizzleflow", "item": "figure-11", "of": "", "better": "more", "reason": _OF_ALL}
    yield Row(**of_all, name="benchmarks like an oracle", unit="% of benchmarks", theirs=45.0, summary="like an oracle")
    yield Row(**of_all, name="paths avoided, mean", unit="% of paths", theirs=99.56, summary="avoided", note=_PATHS)


_PATHS = (
    "of the ways to fill the holes with any of their functions, those that the search did not try; the text of sections 1 and 3"
)


def ptxasw() -> Iterator[Row]:
    for board, latency in LATENCIES.items():
        for what, theirs in (
            ("shuffle", latency.shuffle_up),
            ("shared memory", latency.shared_read),
            ("hit in the first cache", latency.l1_hit),
        ):
            reason = "measured on that board, which is not here; the model of profit takes this number"
            yield Row(paper="ptxasw", item="table-1", name=f"{board}, {what}", unit="cycles", theirs=theirs, reason=reason)
    for line in lines_of("ptxasw"):
        if line["item"] == "table-2":
            yield from _kernelgen(line)
        else:
            yield from _application(line)
    yield from _speeds()
    yield from _registers()
    yield from _stalls()


def _speeds() -> Iterator[Row]:
    """Rows for the speeds of sections 7, 8 and 8.5, as far as the text has numbers: the model's beside the boards'."""
    case = stalls_case()
    for board, summary in SUMMARIES.items():
        shared: dict[str, Any] = {"paper": "ptxasw", "item": "figure-2", "better": "", "is_quick": board == "Maxwell"}
        for what, unit, field, theirs in (
            ("best", "% faster", "best", summary.best_percent),
            ("mean", "% faster", "mean", summary.mean_percent),
            ("kernels that gain", "kernels", "improved", summary.improved),
        ):
            run = Run(case, f"summaries.{board}.{field}")
            yield Row(**shared, name=f"{board}, {what}", unit=unit, theirs=theirs, run=run)
    known: set[str] = set()
    for outcome in OUTCOMES:
        name = f"{outcome.generation} {outcome.kernel}, {outcome.variant}"
        if outcome.percent is None or name in known:
            continue
        known.add(name)
        yield Row(
            paper="ptxasw",
            item="figure-2" if outcome.kernel in KERNELGEN else "section-8.5",
            name=name if outcome.kernel in KERNELGEN else f"{outcome.kernel}, speed on Pascal",
            unit="% faster",
            theirs=outcome.percent,
            run=Run(case, f"faster.{outcome.generation}.{outcome.kernel}.{outcome.variant}"),
            better="",
        )


def _registers() -> Iterator[Row]:
    """Rows for the registers of section 7: ptxas has one target for us, the paper four boards."""
    case = registers_case()
    for board, summary in SUMMARIES.items():
        for code, theirs in summary.registers.items():
            run = Run(case, f"added.{code}")
            shared: dict[str, Any] = {"paper": "ptxasw", "item": "section-7", "unit": "registers more", "better": ""}
            yield Row(**shared, name=f"{board}, {code}", theirs=theirs, run=run, is_quick=board == "Volta")


def _stalls() -> Iterator[Row]:
    """Rows for the samples of section 8; for a change the shares before and after it, since the model has both."""
    shared: dict[str, Any] = {"paper": "ptxasw", "item": "figure-3", "unit": "% of stalls", "better": ""}
    called = "{} {}, {}, {}".format
    found = [(s.generation, s.kernel, s.code, s.reason, s.percent, "") for s in STALLS]
    for change in STALL_CHANGES:
        said = f"the paper gives the change from {change.before} to {change.after} only: {change.points:+g} points"
        found += [(change.generation, change.kernel, code, change.reason, None, said) for code in (change.before, change.after)]
    known: set[str] = set()
    for generation, kernel, code, reason, percent, note in found:
        name = called(generation, kernel or "mean of all", code, reason)
        if name in known:
            continue
        known.add(name)
        has_unit = reason in REASONS
        field = f"stalls.{generation}.{kernel or MEAN}.{code}.{reason}"
        yield Row(
            **shared,
            name=name,
            theirs=percent,
            run=Run(stalls_case(), field) if has_unit else None,
            note=note if has_unit else "",
            reason="" if has_unit else "branches and what the profiler has no name for: the model has no unit for them",
            is_quick=kernel == "gaussblur",
        )


def _kernelgen(line: Mapping[str, Any]) -> Iterator[Row]:
    name = line["kernel"]
    theirs = SYNTHESIS[name]
    case = ptx_case(f"{line.get('suite', 'kernelgen')}/{name}")
    shared: dict[str, Any] = {"paper": "ptxasw", "item": "table-2", "is_quick": bool(line.get("quick"))}
    found = line.get("authors_tool_shuffles")
    note = (
        ""
        if found is None
        else "with plain pointers, the paper's 19 loads; the sixth is a load of its own, tested against two stores "
        "(ptx shuffle --assume noalias: without a test)"
    )
    yield Row(
        **shared,
        name=f"{name}, shuffles",
        unit="shuffles",
        theirs=theirs.shuffles,
        authors_tool=theirs.shuffles if found is None else found,
        run=Run(case, "covered" if "suite" in line else "candidates"),
        better="more",
        note=note,
    )
    yield Row(**shared, name=f"{name}, loads", unit="loads", theirs=theirs.loads, run=Run(case, "loads"), better="")
    if theirs.mean_delta is not None:
        yield Row(
            **shared,
            name=f"{name}, mean distance",
            unit="lanes",
            theirs=theirs.mean_delta,
            run=Run(case, "mean_delta"),
            better="",
        )
    yield Row(
        **shared,
        name=f"{name}, analysis",
        unit="s",
        theirs=theirs.analysis_s,
        authors_tool=line["authors_tool_s"],
        run=Run(case, "analysis_s"),
    )


def _application(line: Mapping[str, Any]) -> Iterator[Row]:
    case = ptx_case(line["case"], ("--max-delta", "1"))
    shared: dict[str, Any] = {"paper": "ptxasw", "item": "section-8.5", "is_quick": bool(line.get("quick"))}
    for what, field in (
        ("shuffles", "candidates"),
        ("shuffles by PTXASW's rule", "candidates_by_papers_rule"),
        ("loads", "loads"),
    ):
        unit = what.split()[0]
        yield Row(
            **shared,
            name=f"{line['row']}, {what}",
            unit=unit,
            theirs=line[unit],
            authors_tool=line[unit],
            run=Run(case, field),
            better="more" if unit == "shuffles" else "less",
            note=f"ours is {line['case']}",
        )


def scans() -> Iterator[Row]:
    for line in lines_of("scans"):
        yield Row(
            paper="scans",
            item="table-1",
            name=line["row"],
            unit="s",
            theirs=line["theirs"],
            run=Run(scan_case(line["case"])),
            is_quick=bool(line.get("quick")),
            note=f"N = {line['N']}, {line['S']:.0e} candidates in the paper",
        )
    for name in SCAN_NAMES:
        if name.startswith("network/"):
            called = name.removeprefix("network/")
            quick = called in ("sklansky", "knowles-1112")
            yield Row(paper="scans", item="section-4", name=called, unit="s", run=Run(scan_case(name)), better="", is_quick=quick)
    reason = "measured on a GTX 260, which is not here; `scan tune` tells the bank conflicts of both by the model"
    yield Row(paper="scans", item="section-3.3", name="bk3 over bk2, speed", unit="% faster", theirs=14.0, reason=reason)


def telamon() -> Iterator[Row]:
    reason = "an example of a kernel: no number"
    yield Row(paper="telamon", item="table-1", name="outer product of two vectors", unit="-", reason=reason)
    references = {line["space"]: line for line in lines_of("telamon")}
    for name, published in SPACES_PUBLISHED.items():
        size, levels = _schedule(f"table2/{name}"), _schedule(f"table3/{name}")
        is_quick = name == "matmul-1024"
        table2: dict[str, Any] = {"paper": "telamon", "item": "table-2", "is_quick": is_quick}
        table3: dict[str, Any] = {"paper": "telamon", "item": "table-3"}
        yield Row(**table2, name=f"{name}, space", unit="kernels", theirs=published.size, run=Run(size, "space_size"), better="")
        ends = Run(size, "dead_end_share")
        yield Row(**table2, name=f"{name}, dead ends", unit="share", theirs=published.dead_ends, run=ends, floor=_FEW_WALKS)
        yield Row(
            **table2,
            name=f"{name}, time",
            unit="ms",
            theirs=published.time_ms,
            run=Run(size, "root_bound_ms"),
            better="",
            note="ours: the model's lower bound of the whole space, not a time",
        )
        yield Row(
            **table3, name=f"{name}, nodes at depth 10", unit="nodes", theirs=published.nodes, run=Run(levels, "nodes"), better=""
        )
        yield Row(**table3, name=f"{name}, kept", unit="nodes", theirs=published.kept, run=Run(levels, "kept"), better="")
        reference = references[name]
        reason = f"needs a Quadro K4000 and its libraries, where the reference took {reference['reference_ms']} ms"
        yield Row(**table2, name=f"{name}, speed over the reference", unit="times", theirs=reference["speedup"], reason=reason)
        share = round(published.kept / published.nodes, 6)
        yield Row(**table3, name=f"{name}, share kept", unit="share", theirs=share, run=Run(levels, "kept_share"))
        cut = Run(levels, "space_size_cut")
        yield Row(**table3, name=f"{name}, space after the cut", unit="kernels", theirs=published.size_cut, run=cut, better="")
    for name, published in SPACES_PUBLISHED.items():
        for search in ("mcts", "refine"):
            yield from _searches(name, search, published.time_ms)
    order = _schedule("table3/order")
    for name, (_, factor) in ORDERS.items():
        run = Run(order, f"{name}.factor")
        better = "more" if name == "direct" else ""
        yield Row(
            paper="telamon", item="section-5.5", name=f"{name} order", unit="times fewer", theirs=factor, run=run, better=better
        )
    yield Row(
        paper="telamon",
        item="section-5.5",
        name="direct order against the reverse",
        unit="times",
        theirs=13.0,
        run=Run(order, "direct_over_reverse"),
        better="more",
    )


def _searches(name: str, search: str, theirs_ms: float) -> Iterator[Row]:
    """Rows for a search with a budget of nodes: medians over the seeds."""
    case = schedule_case(f"search/{name}-{search}", None, 1, 0)
    same: dict[str, Any] = {"paper": "telamon", "item": "section-5.1"}
    is_axpy = name == "axpy"
    yield Row(
        **same,
        name=f"{name}, {search}: time",
        unit="ms",
        theirs=theirs_ms,
        run=Run(case, "time_ms"),
        better="" if is_axpy else "less",
        note="the paper's time is measured, ours is the model's: moving the arrays alone makes 7.06 ms there (6.49 for memory "
        "at 92 % of the data sheet's bandwidth, 5.16 for the second-level cache beside it, as `warploom explore axpy --space "
        "paper --target k4000 --size n=67108864` prints), so it has no kernel below, the paper's neither"
        if is_axpy
        else "",
    )
    for field, told, unit in (
        ("spread", "slowest less fastest of five seeds, over the median", "share"),
        ("nodes", "nodes", "nodes"),
        ("search_s", "CPU time of one search", "s"),
    ):
        yield Row(**same, name=f"{name}, {search}: {told}", unit=unit, run=Run(case, field), better="")


def _schedule(name: str) -> Case:
    return schedule_case(name, TABLE_S.get(name) or TABLE_S[name.partition("/")[0]], 1, 0)


def listings(paper: str) -> Iterator[Row]:
    """The text of the paper, as files of the repository."""
    for line in lines_of("listings"):
        if line["paper"] != paper:
            continue
        files = {word: str(LISTINGS / word) for word in line["command"] if "/" in word}
        arguments = [files.get(word, os.devnull if word == "NULL" else word) for word in line["command"]]
        is_here = all(Path(file.partition(":")[0]).exists() for file in files.values())
        field = line.get("field", "seconds")
        yield Row(
            paper=paper,
            item="listings",
            name=line["row"],
            unit=line.get("unit", "s"),
            theirs=line.get("theirs"),
            run=Run(Case(f"listing/{line['row']}", (*arguments, "--json"), LIMIT_S), field) if is_here else None,
            better="" if "theirs" not in line else "less" if field == "seconds" else "more",
            is_quick=bool(line.get("quick")),
            reason="" if is_here else "the folder examples/papers of the repository is not at hand",
        )


SOURCES: Mapping[str, Callable[[], Iterator[Row]]] = {
    "swizzle-inventor": swizzle_inventor,
    "swizzleflow": swizzleflow,
    "ptxasw": ptxasw,
    "scans": scans,
    "telamon": telamon,
}


@cache
def rows_of(paper: str) -> tuple[Row, ...]:
    """All rows of a paper, in the order of its items."""
    order = [item.name for item in items() if item.paper == paper]
    return tuple(sorted((*SOURCES[paper](), *listings(paper)), key=lambda row: order.index(row.item)))
