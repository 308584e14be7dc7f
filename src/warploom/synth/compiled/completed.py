"""Proof of a completed sketch down to the compiler's output: printed, compiled to PTX, run on symbols, compared with the spec."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from math import prod

from warploom.core import i32
from warploom.gpu import compile_to_ptx, cuda_source, grid_of
from warploom.ir import IndexExpr, Kernel, fill
from warploom.ptx import Program, lower, parse
from warploom.sketch import Sketch, Spec
from warploom.synth.compiled.execution import Argument, ArrayArgument, ScalarArgument
from warploom.synth.compiled.proof import CompiledProof, Wanted, joined_domain, prove_launch
from warploom.synth.lift.sizes import telling_sizes
from warploom.synth.proof.operators import expanded
from warploom.synth.proof.specs import array_shapes
from warploom.synth.proof.symbolic import preset, run_spec
from warploom.synth.report import Completion
from warploom.terms import Algebra, Term, algebra_for

MOST_THREAD_STEPS = 300_000
"""Most steps that further instances may execute, judged by the first one."""
_MOST_ELEMENTS = 1 << 14
_MOST_INSTANCES = 4
_CANDIDATES = 24


def prove_compiled(
    sketch: Sketch,
    completion: Completion | Mapping[str, IndexExpr],
    *,
    arch: str = "sm_90",
    instances: tuple[Mapping[str, int], ...] | None = None,
    ptx: str | None = None,
) -> CompiledProof:
    """Compiles the completed sketch with NVRTC for `arch` and proves the PTX at the instance where the sketch was completed.

    Kernels with run-time sizes are proved at further instances, too: tails and several blocks, as far as they are small;
    `instances` names them all instead. ptx: the compiler's output, if it is at hand. UserError: TOOL_MISSING, CUDA_ERROR, those
    of `cuda_source` and of the spec; UnsupportedError for PTX that is not followed.
    """
    started = time.process_time()
    spec = sketch.spec
    assert spec is not None, "a sketch without a spec cannot be completed"
    holes = completion.holes if isinstance(completion, Completion) else completion
    kernel = fill(sketch.kernel, holes)
    if ptx is None:
        ptx = compile_to_ptx(cuda_source(sketch.kernel, holes).text, arch)
    program = lower(parse(ptx, f"{kernel.name}.ptx"))
    algebra = _algebra(sketch)
    done: list[CompiledProof] = []
    sizes_done: list[tuple[tuple[str, int], ...]] = []
    for sizes in instances or _instances(kernel, sketch.complete_at, done):
        proof = _prove_at(program, kernel, spec, sizes, algebra)
        sizes_done.append(tuple(sizes.items()))
        done.append(proof)
        if proof.verdict != "proved":
            break
    last = done[-1]
    at = ", ".join(f"{s} = {v}" for s, v in sizes_done[-1])
    return replace(
        last,
        domain=joined_domain([p.domain for p in done]),
        reason=f"at {at}: {last.reason}" if last.reason and at else last.reason,
        instances=tuple(sizes_done) if kernel.sizes else (),
        seconds=time.process_time() - started,
        thread_steps=sum(p.thread_steps for p in done),
    )


def _instances(kernel: Kernel, at: Mapping[str, int], done: list[CompiledProof]) -> Iterator[Mapping[str, int]]:
    """The instance of the completion, then those that tell more, as long as they are small; `done` holds the proofs so far.

    Launches of several blocks with an all but empty last one come first, then sizes next to the instance.
    """
    yield at
    if not kernel.sizes:
        return
    blocks = max(1, prod(grid_of(kernel, at)))
    per_block = done[0].thread_steps / blocks
    candidates = [
        (prod(grid_of(kernel, sizes)), sizes) for sizes in islice(telling_sizes(kernel, at, _MOST_ELEMENTS), _CANDIDATES)
    ]
    wider = [c for c in candidates if c[0] >= 3 * blocks][: len(kernel.sizes)]
    left = float(MOST_THREAD_STEPS)
    count = 1
    for own, sizes in wider + [c for c in candidates if c not in wider]:
        if own and own * per_block <= left and count < _MOST_INSTANCES:
            left -= own * per_block
            count += 1
            yield sizes


def _prove_at(program: Program, kernel: Kernel, spec: Spec, sizes: Mapping[str, int], algebra: Algebra) -> CompiledProof:
    expected = run_spec(spec, kernel, sizes)
    wanted: dict[str, Wanted] = {}
    arguments: list[Argument] = []
    for param, shape in zip(kernel.params, array_shapes(kernel, sizes), strict=True):
        arguments.append(ArrayArgument(param.name, param.dtype, shape, "symbols" if param.is_input else "undefined"))
        if param.is_output:
            terms = expected.outputs[param.name]
            if kernel.operators:
                flat = terms.ravel()
                for k, term in enumerate(flat.tolist()):
                    flat[k] = None if term is None else expanded(term, kernel.operators)
                terms = flat.reshape(terms.shape)
            own = algebra if algebra.dtype.kind == param.dtype.kind and algebra.dtype.bits == param.dtype.bits else None
            wanted[param.name] = Wanted(terms, expected.stored[param.name], own or algebra_for(param.dtype))
    arguments += [ScalarArgument(name, i32, sizes[name]) for name in kernel.sizes]
    done: dict[Term, Term] = {}
    x, y, z = kernel.block
    return prove_launch(
        program, kernel.name, tuple(arguments), grid_of(kernel, sizes), (x, y, z), wanted,
        replaced=lambda term: preset(term, spec, done),
    )  # fmt: skip


def _algebra(sketch: Sketch) -> Algebra:
    """The declared laws where the machine keeps more of them than the compiler uses; else those of the elements' type."""
    outputs = [p for p in sketch.kernel.params if p.is_output] or list(sketch.kernel.params)
    declared = sketch.algebra if sketch.algebra not in ("commutative", "syntactic") else None
    return algebra_for(outputs[0].dtype, declared)
