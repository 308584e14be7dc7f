"""Proofs of the movement of kernels, with an unknown operator, and how an attempt to prove one launch ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from warploom.core import UnsupportedError
from warploom.scan.emit import CudaScan, Kernel
from warploom.synth.compiled import FaultError
from warploom.tools.command.messages import one_line
from warploom.tools.scan.elements import NotSeenError, WrongError

Sizes: TypeAlias = Mapping[str, list[list[int]]]


@dataclass(frozen=True, slots=True)
class MovementProof:
    """`verdict` is proved, refuted or unchecked; `kernels` are those that it is about."""

    verdict: str
    kernels: tuple[Kernel, ...] = ()
    sizes: Sizes = field(default_factory=dict[str, list[list[int]]])
    """`launches` of warps and blocks, as threads of a block and elements; of those on cells: `cells`. `whole_arrays`: threads of
    a block, elements of a thread, elements."""
    domain: str = ""
    reason: str = ""


def attempt(launch: str, kernels: tuple[Kernel, ...], prove: Callable[[], None]) -> MovementProof | None:
    """None where the launch is proved."""
    try:
        prove()
    except (FaultError, WrongError) as error:
        told = error.fault.message if isinstance(error, FaultError) else str(error)
        return MovementProof("refuted", kernels, reason=f"{launch}: {told}")
    except NotSeenError as error:
        return MovementProof("unchecked", kernels, reason=f"{launch}: {error}")
    except UnsupportedError as error:
        return MovementProof("unchecked", kernels, reason=f"{launch}: {one_line(error.diagnostics[0])}")
    return None


def any_operator(made: CudaScan) -> str:
    """The domain's words for the operators of which the movement is proved."""
    said = "every associative operator with an identity, its functions compiled as calls of pure functions"
    operator = made.body.operator
    if any(e.sort.base == "bool" for e in (*operator.fields, *operator.loop.fields, *operator.projection)):
        said += ", truth values as whole numbers"
    return said
