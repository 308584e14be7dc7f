"""Proofs by representatives: which threads or blocks are run, and what an error on the way says of the whole launch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from warploom.core import UserError
from warploom.schedule.backbone import NoWindowError
from warploom.synth.compiled import Axes, CompiledProof, Fault, FaultError, MovingError, NotAlikeError
from warploom.tools.command.messages import one_line


class Prove(Protocol):
    """A proof by one thread for those that run alike, or by one block."""

    def __call__(self, alike: Axes | None, *, is_of_threads: bool) -> CompiledProof: ...


def by_threads_or_blocks(prove: Prove, alike: Axes | None, of_fault: Callable[[Fault], CompiledProof]) -> CompiledProof:
    """By one thread for those that run alike where threads share nothing, else by one block.

    alike: axes of the block along which threads may compute alike; None: no block is run. of_fault: what a fault of the
    representative says. `unchecked` where a representative does not tell what others do.
    """
    found = _answer(prove, None, of_fault, is_of_threads=True)
    if found.verdict == "unchecked" and alike is not None:
        return _answer(prove, alike, of_fault, is_of_threads=False)
    return found


def _answer(
    prove: Prove, alike: Axes | None, of_fault: Callable[[Fault], CompiledProof], *, is_of_threads: bool
) -> CompiledProof:
    try:
        return prove(alike, is_of_threads=is_of_threads)
    except FaultError as error:
        return of_fault(error.fault)
    except (NotAlikeError, MovingError, NoWindowError) as error:
        return CompiledProof("unchecked", "", str(error))
    except UserError as error:
        return CompiledProof("unchecked", "", one_line(error.diagnostics[0]))


def at_some_size(fault: Fault) -> CompiledProof:
    """A fault in a box of sizes is perhaps one of a size that no launch has: the boxes hold more."""
    return CompiledProof("unchecked", "", f"at some size: {fault.message}")
