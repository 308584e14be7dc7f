"""The command line: names of commands and where they are; none is imported before it runs.

Exit codes: 0 all that was asked for is solved; 1 proved impossible, refuted or refused; 2 bad input; 3 gave up; 130 interrupted.
"""

from __future__ import annotations

import click

import warploom
from warploom.tools.command.entry import Commands, Later, run

_PTX = {
    "check": Later(
        "warploom.tools.ptx.check:check_command",
        "Parse and verify PTX files; count kernels, instructions and registers, and name what is not supported.",
    ),
    "fmt": Later(
        "warploom.tools.ptx.check:format_command", "Print a PTX file in normal form: one statement a line, no comments."
    ),
    "prove": Later(
        "warploom.tools.ptx.prove:prove",
        "Prove that a PTX kernel stores what a plain Python spec says and has no race, on symbolic data.",
    ),
    "run": Later(
        "warploom.tools.ptx.run:run_command",
        "Run a kernel on arrays without a GPU; report its results, its costs and its mistakes.",
    ),
    "shuffle": Later(
        "warploom.tools.ptx.shuffle:shuffle_command",
        "Replace global loads by warp shuffles where another lane has loaded the value.",
    ),
    "trace": Later(
        "warploom.tools.ptx.trace_command:trace_command",
        "Run every kernel symbolically and print its memory trace, in the style of PTXASW's Listing 5.",
    ),
}
_SCAN = {
    "census": Later(
        "warploom.tools.scan.discover:census_command",
        "Count all scan networks of a number of cells and steps, and the operations of the smallest.",
    ),
    "check": Later(
        "warploom.tools.scan.lift:check_command",
        "Prove that a function of two values is associative, or refuse it with a counterexample.",
    ),
    "emit": Later(
        "warploom.tools.scan.emit:emit_command",
        "Lift a serial loop, write its operator and scan for a GPU or for NumPy, and run them against the loop.",
    ),
    "fewest": Later(
        "warploom.tools.scan.discover:fewest_command",
        "Find the scan network with the fewest operations for its steps, and prove that there is no smaller.",
    ),
    "layout": Later(
        "warploom.tools.scan.discover:scan_layout_command",
        "Find the places of a network's cells in banked memory that cost least: padding, swizzles, tables.",
    ),
    "lift": Later(
        "warploom.tools.scan.lift:lift_command",
        "Find the associative operator that computes a serial loop, and prove it for all inputs and lengths.",
    ),
    "modules": Later(
        "warploom.tools.scan.discover:modules_command",
        "Find the modules that recur in networks: runs of steps on evenly spaced cells that read only each other.",
    ),
    "network": Later(
        "warploom.tools.scan.network:network_command", "Turn a drawn scan network into a SIMD loop for every size, and prove it."
    ),
    "template": Later(
        "warploom.tools.scan.template:template_command",
        "Fill the constants `??` and the choices of a template so that it equals a specification for all inputs.",
    ),
    "tune": Later(
        "warploom.tools.scan.tune:tune_command",
        "Rank combinations of operator, network, layout and variant by their modelled cost, and on a GPU by time.",
    ),
}
_BENCH = {
    "ablations": Later(
        "warploom.tools.bench.ablations:bench_ablations", "Measure what each of the engine's ideas is worth: the time without it."
    ),
    "exchange": Later(
        "warploom.tools.bench.exchanges:bench_exchange",
        "Write exchanges of registers, beside what trove, CUB and Triton take for them.",
    ),
    "kernels": Later(
        "warploom.tools.bench.kernels:bench_kernels",
        "Count, compile and (on a GPU) time every kernel beside the papers' shape of it and its shared-memory baseline.",
    ),
    "layout": Later(
        "warploom.tools.bench.layouts:bench_layout",
        "Find maps of tiles in shared memory, beside what row-major order, padding and CuTe's atoms take.",
    ),
    "lint": Later(
        "warploom.tools.bench.lint.command:bench_lint",
        "Plant mistakes by rule into kernels in CUDA, PTX and Triton; count those that `lint` finds on their line.",
    ),
    "ptx": Later(
        "warploom.tools.bench.ptx:bench_ptx",
        "Replace every load of compiled stencils that a shuffle can cover; run the original and the rewritten kernel.",
    ),
    "scan": Later(
        "warploom.tools.bench.scan:bench_scan",
        "Lift loops, complete networks and layouts, refuse and accept operators: the tasks of the paper and of its successors.",
    ),
    "schedule": Later(
        "warploom.tools.bench.schedule:schedule_command",
        "Count the paper's spaces and what the bound cuts; search kernels and time them beside NumPy, plain loops and PyTorch.",
    ),
    "synth": Later("warploom.tools.bench.synth:bench_synth", "Complete every case of both papers, and larger ones."),
    "transposes": Later(
        "warploom.tools.bench.transposes:transposes_command",
        "Find the steps of every m x n transpose by search; each is proved on all of its elements.",
    ),
}
_KERNELS = {
    "export": Later(
        "warploom.tools.kernels.command:export_command",
        "Copy the kernels that count here into a folder, for a package that ships them.",
    ),
    "list": Later(
        "warploom.tools.kernels.command:list_command",
        "List the kernels that `tune` has kept: function, sizes, threads, times, and why one does not count.",
    ),
    "prune": Later(
        "warploom.tools.kernels.command:prune_command",
        "Delete kernels that do not count (damaged, of other versions, machines or compilers), or every kernel.",
    ),
}
_COMMANDS = {
    "bench": Later("warploom.tools.cli:bench", "Run benchmark cases, each in a fresh process."),
    "check-layout": Later(
        "warploom.tools.layout.command:check_layout_command",
        "Say whether a map of a tile in shared memory is right and as good as any, or give a better one.",
    ),
    "choices": Later(
        "warploom.tools.choices.command:choices_command",
        "Read choices and requirements in the language of Telamon's paper, and count the implementations of its kernels.",
    ),
    "demo": Later(
        "warploom.tools.synth.demo_command:demo", "Complete, prove, print, compile and run the paper's 1-D convolution."
    ),
    "doctor": Later(
        "warploom.tools.doctor.command:doctor_command",
        "Say what of this installation works, what for, and the command that mends what does not.",
    ),
    "exchange": Later(
        "warploom.tools.layout.command:exchange_command",
        "Write the device function that brings registers from one layout to another, proved, with the least that is possible.",
    ),
    "explore": Later(
        "warploom.tools.explore.command:explore",
        "Search for the fastest implementation of a kernel: tile sizes, loops, threads, memory, order.",
    ),
    "kernels": Later(
        "warploom.tools.cli:kernels", "List, export and delete the kernels that functions with `wl.jit` have found."
    ),
    "layout": Later(
        "warploom.tools.layout.command:layout_command",
        "Find the cheapest map of a tile in shared memory for all accesses at once, with a certificate.",
    ),
    "lint": Later(
        "warploom.tools.lint.command:lint_command",
        "Look for races, faults and wasted accesses in one launch of a CUDA or PTX kernel, on the lines of its source; or for "
        "races in every launch.",
    ),
    "list": Later(
        "warploom.tools.listing.command:list_examples",
        "List the library's cases: the names that `synth`, `solve` and `bench` take.",
    ),
    "new": Later(
        "warploom.tools.new.command:new_command",
        "Write a commented file that runs as it stands, for you to change: a sketch, a tensor function, a loop, a program.",
    ),
    "paper": Later(
        "warploom.tools.papers.command:paper_command",
        "List the tables and figures of the five papers, or run one and print its rows beside ours.",
    ),
    "ptx": Later("warploom.tools.cli:ptx", "Read, run, trace, prove and rewrite PTX files of any compiler."),
    "same": Later(
        "warploom.tools.same.command:same_command",
        "Prove that two CUDA or PTX kernels leave the same in memory in one launch, or find data on which they differ.",
    ),
    "scan": Later(
        "warploom.tools.cli:scan", "Turn a serial loop into a parallel scan: find its operator, complete networks, write kernels."
    ),
    "solve": Later(
        "warploom.tools.solve.command:solve_dataflow",
        "Find the gathers that make a dataflow program meet its goal, or prove that there are none.",
    ),
    "synth": Later("warploom.tools.synth.command:synth", "Complete a sketch from a file or a case of the library, and prove it."),
    "verify-certificate": Later(
        "warploom.tools.layout.command:verify_command",
        "Check a certificate of `layout` or `exchange` by a checker apart from the search, and the report line that has it.",
    ),
    # One part of `doctor`, in a process of its own.
    "doctor-probe": Later("warploom.tools.doctor.command:probe_command"),
    # One case of `bench`, in a process of its own.
    "bench-ablation": Later("warploom.tools.bench.ablations:bench_ablation"),
    "bench-kernel": Later("warploom.tools.bench.kernels:bench_kernel"),
    "bench-layout": Later("warploom.tools.bench.layout_cases:bench_layout_case"),
    "bench-lint": Later("warploom.tools.bench.lint.cases:bench_lint_case"),
    "bench-ptx": Later("warploom.tools.bench.ptx:bench_ptx_case"),
    "bench-ptx-registers": Later("warploom.tools.bench.ptx_registers:bench_ptx_registers"),
    "bench-ptx-stalls": Later("warploom.tools.bench.ptx_stalls:bench_ptx_stalls"),
    "bench-scan": Later("warploom.tools.bench.scan:bench_scan_case"),
    "bench-schedule": Later("warploom.tools.bench.schedule:schedule_case_command"),
    "bench-transpose": Later("warploom.tools.bench.wall_transposes:bench_transpose"),
    "bench-triton": Later("warploom.tools.bench.layout_peers:bench_triton"),
}


@click.group(cls=Commands, later=_COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(warploom.__version__)
def cli() -> None:
    """Complete GPU kernel sketches, prove them and print CUDA."""


@click.group(cls=Commands, later=_PTX)
def ptx() -> None:
    """Read, run, trace, prove and rewrite PTX files of any compiler."""


@click.group(cls=Commands, later=_SCAN)
def scan() -> None:
    """Turn a serial loop into a parallel scan: find its operator, complete networks, write kernels."""


@click.group(cls=Commands, later=_KERNELS)
def kernels() -> None:
    """List, export and delete the kernels that functions with `wl.jit` have found."""


@click.group(cls=Commands, later=_BENCH)
def bench() -> None:
    """Run benchmark cases, each in a fresh process."""


def main() -> None:
    """Runs the command line and exits; a fault of this program is one line, never a traceback."""
    run(cli)
