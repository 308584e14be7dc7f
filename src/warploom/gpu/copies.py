"""Drops loops that only copy a permuted register array."""

from __future__ import annotations

from dataclasses import replace

from warploom.gpu.facts import Facts
from warploom.ir import For, IndexConst, IndexVar, Read, SetIndex, Stmt, Store


def without_copy(before: tuple[Stmt, ...], loop: For, facts: Facts) -> tuple[Stmt, ...] | None:
    """`before` with its last step storing where `loop` copies the permuted array to, if `loop` does nothing else."""
    match before, loop:
        case (
            (SetIndex() as amount, *steps, For(body=(Store() as last,)) as step),
            For(var, IndexConst(0), stop, 1, (Store(target, (IndexVar(at),), Read(copied, (IndexVar(there),))) as store,)),
        ) if at == there == var and copied == last.array and stop == step.stop:
            declared, made = facts.arrays.get(target), facts.arrays[copied]
            if declared is None or (declared.space, declared.dtype, declared.shape) != (made.space, made.dtype, made.shape):
                return None
            kept = (s for s in steps if s != made)
            # the comment on the copy's hole stands before the steps
            return replace(amount, span=store.span), *kept, replace(step, body=(replace(last, array=target),))
        case _:
            return None
