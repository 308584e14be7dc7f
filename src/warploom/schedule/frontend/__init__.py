"""Tensor functions: mathematics written as Python, read into the backbones of kernels.

    function   := "@tensor" def name(parameter, ...): statement*
    parameter  := name: dtype [size, ...] | name: dtype                (an array; a scalar)
                | name: out [dtype [size, ...]] | name: inout [...] | name: temp [...]
    size       := integer | "n + 2", "k // 32" (names of sizes, integers, + - *, // and % by an integer)
    statement  := target = value                    (an output or a temp array: ends a stage, which is one kernel)
                | target += value                   (sum over the indices that are on the right only; added to an inout array)
                | target, ... = value, ...          (several results of one stage, from shared loads)
                | index: range(size)                (for an index that stands alone nowhere)
    target     := name[index, ...]                  (a name that is not declared is a value inside the stage)
    value      := number | size | index | scalar | array[affine, ...] | pad(array, number)[affine, ...] | + - * / **
                | dtype(value) | value if condition else value | where(condition, value, value)
                | abs max min (value, ...) | f(value) | sum prod max min (value, over=index) | argmax argmin (value, over=index)
    condition  := value < value (and <= > >= == !=, chains of them) | not condition | condition and condition | ... or ...
    f          := exp, log, sqrt, tanh and the other functions of one real number in `warploom.operations`
    affine     := integers, indices, + -, integer * index; names of integers in capitals are integers

Takes such a function. Gives a `TensorFunction`, whose `program` is a `Program` of backbones at given sizes. Open
`functions.py` first, then `reader.py`.

An index runs over the axis on which it stands alone. A statement loads each element that it names once.
"""

from warploom.schedule.frontend.functions import (
    ProgramOptions,
    TensorFunction,
    TensorHolder,
    collecting_broken,
    tensor,
    tensor_within,
)
from warploom.schedule.frontend.loader import load_tensors, run_file
from warploom.schedule.frontend.parted import Parted, PartedFunction, parted_sums
from warploom.schedule.frontend.shared_passes import sharing_passes
from warploom.schedule.frontend.sizes import Sizes, names_of
from warploom.schedule.frontend.stand_ins import STAND_INS, StandIn, argmax, argmin, inout, out, pad, prod, temp, where

__all__ = [
    "Parted", "PartedFunction", "ProgramOptions", "Sizes", "TensorFunction", "TensorHolder", "argmax", "argmin",
    "collecting_broken", "inout", "load_tensors", "names_of", "out", "pad", "parted_sums", "prod", "run_file", "sharing_passes",
    "temp", "tensor", "tensor_within", "where",
]  # fmt: skip


def __getattr__(name: str) -> StandIn:
    """`exp`, `log` and the others of `STAND_INS`."""
    if name not in STAND_INS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return STAND_INS[name]
