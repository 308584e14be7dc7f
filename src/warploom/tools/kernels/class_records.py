"""Records of the store for classes of shapes: which of them serve the sizes of a call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import cast

from warploom.core import UserError
from warploom.schedule.backbone import Program
from warploom.schedule.calls import in_class
from warploom.schedule.frontend import Sizes, TensorFunction, names_of
from warploom.solve import Json
from warploom.tools.kernels.store import Kept


@dataclass(frozen=True, slots=True)
class ClassRecord:
    record: Mapping[str, Json]
    program: Program
    """The program whose text is in the record's key."""
    fixed: Mapping[str, int]
    multiples: Mapping[str, int]


def class_program(
    function: TensorFunction, sizes: Mapping[str, int], multiples: Mapping[str, int], *, has_strides: bool = False
) -> Program:
    """The program whose text is in keys of a class of shapes: the same for all of its sizes. has_strides: of a GPU."""
    least = Sizes({**sizes, **{name: max(2, multiple) for name, multiple in multiples.items()}})
    for count in function.counts:
        for name in multiples:
            if name in names_of(count) and (missing := 2 - count.whole_at(least)) > 0:
                least[name] += -(-missing // multiples[name]) * multiples[name]
    return function.at_run_time(function.program(least), multiples, has_strides=has_strides)


def class_records(
    files: Iterator[Kept], function: TensorFunction, sizes: Mapping[str, int], on: str | None = None
) -> Iterator[ClassRecord]:
    """Records that count, of classes that hold the sizes. Their keys are not compared yet. on: the target of a GPU; None: of a
    CPU."""
    for kept in files:
        match kept.record:
            case {"run_time": dict(multiples), "sizes": dict(at)} as record if not kept.reason and record.get("target") == on:
                pass
            case _:
                continue
        if multiples.keys() - set(function.sizes) or at.keys() != set(function.sizes):
            continue
        if not all(type(n) is int and n > 0 for n in (*multiples.values(), *at.values())):
            continue
        opened = cast("dict[str, int]", multiples)
        fixed = {name: value for name, value in cast("dict[str, int]", at).items() if name not in opened}
        if not in_class(sizes, fixed, opened):
            continue
        try:
            program = class_program(function, sizes, opened, has_strides=on is not None)
        except UserError:
            continue
        yield ClassRecord(record, program, fixed, opened)
