"""Proof of compiled kernels: PTX run on symbolic data, its stores compared with a spec, faults and races reported.

Takes the text of a PTX module, a launch, and a spec or a second module. Gives a `CompiledProof`: proved, refuted with a place,
or unchecked with a reason. The machine here shares nothing with the interpreter and the emulator of `warploom.ptx`, so that they
check each other. Open `proof.py` first, then `execution.py`.
"""

from warploom.synth.compiled.alike import Axes, ImpliedGroup
from warploom.synth.compiled.base_two import AsCompiled
from warploom.synth.compiled.boxes import NotAlikeError, Stores, count_of_different, elements_moved, in_first_block, run_boxes
from warploom.synth.compiled.calls import Layout, Opaque, number_of
from warploom.synth.compiled.comparison import Difference
from warploom.synth.compiled.completed import prove_compiled
from warploom.synth.compiled.data import Undefined
from warploom.synth.compiled.equivalence import prove_equivalent
from warploom.synth.compiled.exchanges import RECONVERGED
from warploom.synth.compiled.execution import (
    Argument,
    ArrayArgument,
    Box,
    Content,
    ScalarArgument,
    Symbol,
    SymbolicRun,
    run_symbolically,
)
from warploom.synth.compiled.faults import Access, Fault, FaultError
from warploom.synth.compiled.handover import Cell, HandedArgument, Handover, StoodError, Word
from warploom.synth.compiled.index_arrays import IndexArray, IndexArrays
from warploom.synth.compiled.moving import PeriodError
from warploom.synth.compiled.plain_specs import check_parameters, run_plain_spec
from warploom.synth.compiled.proof import CompiledProof, Wanted, joined_domain, judged, prove_by_cases, prove_launch
from warploom.synth.compiled.rounds import Repeat
from warploom.synth.compiled.sealing import Sealed
from warploom.synth.compiled.spec_numbers import run_on_numbers
from warploom.synth.compiled.threads import USE
from warploom.synth.compiled.totals import MovingError, Totals

__all__ = [
    "RECONVERGED", "USE", "Access", "Argument", "ArrayArgument", "AsCompiled", "Axes", "Box", "Cell",
    "CompiledProof", "Content", "Difference", "Fault", "FaultError", "HandedArgument", "Handover", "ImpliedGroup", "IndexArray",
    "IndexArrays", "Layout",
    "MovingError", "NotAlikeError", "Opaque", "PeriodError", "Repeat", "ScalarArgument", "Sealed", "StoodError", "Stores",
    "Symbol", "SymbolicRun", "Totals", "Undefined", "Wanted", "Word", "check_parameters", "count_of_different", "elements_moved",
    "in_first_block", "joined_domain", "judged", "number_of", "prove_by_cases", "prove_compiled", "prove_equivalent",
    "prove_launch", "run_boxes", "run_on_numbers", "run_plain_spec", "run_symbolically",
]  # fmt: skip
