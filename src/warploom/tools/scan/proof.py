"""Whether the kernels that `scan emit` prints for warps and blocks are proved, from their PTX, run on symbols.

The text is compiled with the operator's functions as calls of what is only declared (`scan.emit.opaque_scan`). Every thread of a
launch is run with these functions unknown: what is stored is a term of calls, and nothing is known of them but that combining is
associative and has the identity. So each value is a list of elements, combined in order: `lift` gives one element, `combine`
the left list and then the right one, `identity` none. A kernel is proved if every result is what the loop has there: the
elements up to a place, in order, none left out, none twice. Races, barriers, undefined values and bounds are faults of the run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from warploom.core import i64, rarely_collected
from warploom.core.limits import why
from warploom.gpu import compile_to_ptx
from warploom.ptx import Program as PtxProgram
from warploom.ptx import lower, parse
from warploom.scan import Operator
from warploom.scan.emit import (
    ARCH,
    PLACES,
    SEPARATE,
    SHARED_KERNELS,
    Asked,
    Choices,
    CudaScan,
    Kernel,
    Types,
    cuda_scan,
    opaque_scan,
)
from warploom.synth.compiled import (
    ScalarArgument,
    Symbol,
    joined_domain,
    run_symbolically,
)
from warploom.tools.command.lines import Line
from warploom.tools.command.outcome import Progress, nothing_said
from warploom.tools.scan.elements import Elements, WrongError
from warploom.tools.scan.functions import FunctionsProof, prove_functions
from warploom.tools.scan.movement_proof import MovementProof, any_operator, attempt, kept_or_proved
from warploom.tools.scan.whole_arrays import prove_whole_arrays

IN_WORDS = "functions on words of the machine as lifted, associative there in the range of the notes"
THREADS = (32, 64, 128, 1024)
_SEVERAL = 128
"""Threads up to which two blocks are run, the second one with elements missing."""


def prove_movement(made: CudaScan, text: str | None = None, threads: Sequence[int] = THREADS) -> MovementProof:
    """The kernels for warps and blocks of a text with opaque calls (`opaque_scan`). UserError: TOOL_MISSING, CUDA_ERROR.

    text: the compiler's output, if it is at hand.
    """
    ptx = compile_to_ptx(made.source, ARCH, options=SEPARATE) if text is None else text
    return kept_or_proved(made, ptx, ["parts", *threads], lambda: _proved(made, ptx, threads))


def _proved(made: CudaScan, ptx: str, threads: Sequence[int]) -> MovementProof:
    program = lower(parse(ptx, "scan.ptx"))
    kernels: tuple[Kernel, ...] = tuple([k for k in made.kernels if "device" not in k])
    domains: list[str] = []
    sizes: dict[str, list[list[int]]] = {}
    for kernel in kernels:
        for block in (made.columns or 0,) if kernel in SHARED_KERNELS else threads:
            for count in _counts(block):
                done = sizes.setdefault("cells" if kernel in SHARED_KERNELS else "launches", [])
                done += [] if [block, count] in done else [[block, count]]
                launch = f"{kernel} with {block} threads and {count} elements"
                run = _Launch(made, program, kernel, block, count)
                if (found := attempt(launch, kernels, run.prove)) is not None:
                    return found
                domains += run.notes
    return MovementProof("proved", kernels, sizes, joined_domain([any_operator(made), *domains]))


def _counts(block: int) -> list[int]:
    """Numbers of elements: one, some missing, full, and two blocks with some missing where that is not dear."""
    if block > _SEVERAL:
        return [block - 31]
    return [1, block, 2 * block - 31]


class _Launch:
    def __init__(self, made: CudaScan, program: PtxProgram, kernel: Kernel, block: int, count: int) -> None:
        self.program = program
        self.block = block
        self.count = count
        self.elements = Elements(made, kernel, count, 32 if "warp" in kernel else block)
        self.notes: list[str] = []
        """Statements for the domain."""

    def prove(self) -> None:
        """WrongError, NotSeenError, FaultError, UnsupportedError."""
        found = self.elements
        arguments = (*found.inputs, *found.outputs, ScalarArgument("n", i64, self.count), *found.constants)
        grid = -(-self.count // self.block), 1, 1
        functions = found.functions()
        # The text says what the table holds, and nothing of the text changes it; the domain says so.
        tables: dict[str, Symbol] = {PLACES: "initial"} if PLACES in self.program.variables else {}
        run = run_symbolically(
            self.program, found.kernel, arguments, grid, (self.block, 1, 1), functions=functions, symbols=tables
        )
        found.check_inputs(run)
        wanted = found.wanted()
        for argument in found.outputs:
            stored = run.written(argument)
            if {*stored} != {*wanted}:
                place = min({*stored} ^ {*wanted})
                raise WrongError(f"result {place} is {'not stored' if place in wanted else 'stored, which nothing asks for'}")
        for place, interval in wanted.items():
            found.check(run, place, interval)
        self.notes = [*run.notes, *run.unnamed_stores(arguments)]


@dataclass(frozen=True, slots=True)
class Proof:
    """Proof of the kernels as printed: their movement with an unknown operator, and the operator's functions.

    `movement`: proof of the kernels for warps and blocks. `whole`: of those for whole arrays; None: not looked at.
    """

    movement: MovementProof
    functions: FunctionsProof
    whole: MovementProof | None = None

    @property
    def verdict(self) -> str:
        return self._verdict(self.movement)

    @property
    def reason(self) -> str:
        """Why nothing is proved of the kernels as printed, or which ones are refuted."""
        if self.movement.verdict == "proved" and self.whole is not None and self.whole.verdict == "refuted":
            return self.whole.reason
        return self._reason(self.movement)

    @property
    def is_refuted(self) -> bool:
        return "refuted" in (self.movement.verdict, self.whole.verdict if self.whole is not None else "")

    @property
    def fields(self) -> Line:
        """`proof`, and `proved_at` or `proof_reason`, as `explore` has them: a kernel for every size is proved at some."""
        proof = self._said(self.movement)
        at = dict(self.movement.sizes)
        if self.whole is not None:
            proof["whole_arrays"] = self._said(self.whole)
            if self._verdict(self.whole) == "proved":
                at |= self.whole.sizes
        if self.verdict == "proved":
            return {"proof": proof, "proved_at": at}
        return {"proof": proof, "proof_reason": self._reason(self.movement)}

    def _verdict(self, found: MovementProof) -> str:
        return "unchecked" if found.verdict == "proved" and self.functions.missing else found.verdict

    def _reason(self, found: MovementProof) -> str:
        if found.verdict != "proved":
            return found.reason
        return f"the movement is proved with an unknown operator, but {missing}" if (missing := self.functions.missing) else ""

    def _said(self, found: MovementProof) -> Line:
        said: Line = {"verdict": self._verdict(found), "kernels": list(found.kernels)}
        if self._verdict(found) == "proved":
            said["domain"] = joined_domain([found.domain, IN_WORDS, self.functions.domain])
        if found.verdict == "proved":
            said["movement"] = {"verdict": "proved", "domain": found.domain, "sizes": dict(found.sizes)}
            if found.is_kept:
                said["movement"] = {**said["movement"], "is_kept": True}
        return said if self._verdict(found) == "proved" else said | {"reason": self._reason(found)}


def proof_of(operator: Operator, types: Types, choices: Choices, asked: Asked, progress: Progress = nothing_said) -> Proof:
    """Proof of the operator's kernels; parts that are not done when the budget is spent stay unchecked. UserError: TOOL_MISSING,
    CUDA_ERROR."""
    with rarely_collected():
        return _proof_of(operator, types, choices, asked, progress)


def _proof_of(operator: Operator, types: Types, choices: Choices, asked: Asked, progress: Progress) -> Proof:
    functions = FunctionsProof("not looked at")
    moved = whole = None
    try:
        progress("proving the movement in warps and blocks")
        moved = prove_movement(opaque_scan(operator, types, choices, asked.form, asked.cells))
        if moved.verdict == "proved":
            progress("proving the operator's functions as compiled")
            functions = prove_functions(cuda_scan(operator, types, choices, form=asked.form))
            progress("proving the movement in whole arrays")
            whole = prove_whole_arrays(operator, types, choices, asked.form)
    except KeyboardInterrupt as error:
        cut = MovementProof("unchecked", reason=why(error))
        return Proof(cut, functions) if moved is None else Proof(moved, functions, cut)
    return Proof(moved, functions, whole)
