"""Asynchronous copies to shared memory: `wl.memcpy_async`, `wl.pipeline_commit`, `wl.pipeline_wait_prior`."""

from __future__ import annotations

import ast

from warploom.ir import CommitCopies, Read, Store, ValueSelect, WaitCopies
from warploom.sketch import words
from warploom.sketch.operands import Data, Operand, describe
from warploom.sketch.parser.arguments import Arguments
from warploom.sketch.parser.calls import NOTHING, effect, handles, meet
from warploom.sketch.parser.expressions import condition, evaluate, static_int
from warploom.sketch.parser.numbers import zero
from warploom.sketch.parser.state import State
from warploom.sketch.parser.statements import stored_element


@handles(words.memcpy_async)
def _memcpy_async(state: State, args: Arguments) -> Operand:
    effect(state, args.call, "wl.memcpy_async(...)")
    target, source = args.node("target"), args.node("source")
    if not isinstance(target, ast.Subscript):
        message = "expected an element of a shared array as target of wl.memcpy_async"
        raise state.problem("COPY_TARGET", message, target, "Write wl.memcpy_async(tile[i], x[j]).")
    element = stored_element(state, target)
    read = evaluate(state, source)
    if not isinstance(read, Data) or not isinstance(read.expr, Read):
        message = f"expected an element of a global array as source of wl.memcpy_async, got {describe(read)}"
        raise state.problem("COPY_SOURCE", message, source, "Write wl.memcpy_async(tile[i], x[j]).")
    if read.dtype != element.dtype:
        message = f"expected elements of {element.dtype}, as {element.name!r} has, got {read.dtype}"
        raise state.problem("DTYPE_MISMATCH", message, source, "Copy between arrays of one type.")
    valid = args.optional("valid")
    value = read.expr if valid is None else ValueSelect(condition(state, valid), read.expr, zero(read.dtype))
    state.mark_written(element)
    state.emit(Store(element.name, element.prefix, value, state.span(args.call), is_async=True))
    return NOTHING


@handles(words.pipeline_commit)
def _commit(state: State, args: Arguments) -> Operand:
    meet(state, args.call, "wl.pipeline_commit()")
    state.emit(CommitCopies(state.span(args.call)))
    return NOTHING


@handles(words.pipeline_wait_prior)
def _wait(state: State, args: Arguments) -> Operand:
    meet(state, args.call, "wl.pipeline_wait_prior()")
    left = static_int(state, args.node("left"), "the groups that may go on")
    state.emit(WaitCopies(left, state.span(args.call)))
    return NOTHING
