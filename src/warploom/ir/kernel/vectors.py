"""Loops whose trips are one access of the machine: which are well formed, and what they ask of the arrays' places.

`for j in vector(4)` means the same as `for j in range(4)`; it also says that the four elements that it moves between an array and
registers, or copies asynchronously to shared memory, are read or stored at once. The array must then begin at a multiple of their
size, and so must the first element: whatever the run-time sizes are, or where a condition on them says so (`if w % 4 == 0`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import gcd
from typing import cast

from warploom.core import BY_NAME, DType
from warploom.ir.kernel.nodes import (
    Compare,
    Declare,
    For,
    If,
    IndexBinary,
    IndexConst,
    IndexExpr,
    IndexSelect,
    IndexVar,
    Kernel,
    Logical,
    Param,
    Read,
    SetIndex,
    Shuffle,
    SizeVar,
    Stmt,
    Store,
    ValueConst,
    ValueSelect,
    Vote,
)
from warploom.ir.kernel.parts import parts
from warploom.ir.kernel.rewrite import map_index

MOST_BYTES = 16
"""Bytes of the widest access of one thread."""
NO_MULTIPLES: Mapping[str, int] = {}
"""Nothing is known about any size."""


def vector_type(dtype: DType, lanes: int) -> DType | None:
    """CUDA's type of so many elements side by side; None where it has none that one instruction moves."""
    found = next((t for t in BY_NAME.values() if t.lanes == lanes > 1 and (t.kind, t.bits) == (dtype.kind, dtype.bits)), None)
    if found is None or dtype.lanes > 1 or found.size_bytes > MOST_BYTES:
        return None
    return found


def copy_source(store: Store) -> tuple[Read, IndexExpr] | None:
    """The source of an asynchronous copy, and the condition without which it writes zeros; None for a value of another form."""
    match store.value:
        case Read() as read:
            return read, IndexConst(True)
        case ValueSelect(valid, Read() as read, ValueConst(number)) if str(number) in ("0", "0.0"):
            return read, valid
        case _:
            return None


def moved(loop: For) -> tuple[Store, Read] | None:
    """The store of a vector loop, and the read that it moves if it is a load; None for another body."""
    if len(loop.body) != 1 or not isinstance(store := loop.body[0], Store):
        return None
    copied = copy_source(store) if store.is_async else None
    if copied is not None:
        return store, copied[0]
    return (store, store.value) if isinstance(store.value, Read) else (store, Read(store.array, store.index))


def global_access(loop: For, params: Mapping[str, Param]) -> tuple[Param, tuple[IndexExpr, ...]] | None:
    """The array in global memory that a vector loop moves to or from, and the index there; None for another body."""
    found = moved(loop)
    if found is None:
        return None
    store, read = found
    name, index = (store.array, store.index) if store.array in params else (read.array, read.index)
    param = params.get(name)
    return None if param is None or param.space != "global" else (param, index)


def first_element(array: Param | Declare, index: tuple[IndexExpr, ...], var: str, trip: int = 0) -> IndexExpr:
    """Row-major number of the element that one trip moves."""
    flat: IndexExpr = IndexConst(0)
    for position, extent in zip(index, array.shape, strict=True):
        flat = IndexBinary("+", IndexBinary("*", flat, IndexConst(extent) if isinstance(extent, int) else extent), position)
    return map_index(flat, lambda e: IndexConst(trip) if e == IndexVar(var) else None)


def size_multiples(cond: IndexExpr, around: Mapping[str, int] = NO_MULTIPLES) -> Mapping[str, int]:
    """Run-time size -> a number that divides it where `cond` holds (`w % 4 == 0`, alone or joined by `and`), beside those of
    `around`."""
    match cond:
        case Compare("==", IndexBinary("%", SizeVar(name), IndexConst(number)), IndexConst(0)) if int(number) > 0:
            return {**around, name: math.lcm(int(number), around.get(name, 1))}
        case Logical("and", operands):
            for operand in operands:
                around = size_multiples(operand, around)
            return around
        case _:
            return around


def vector_problem(loop: For, kernel: Kernel, multiples: Mapping[str, int] = NO_MULTIPLES) -> tuple[str, str, str] | None:
    """Code, message and fix of what is wrong with a vector loop; `multiples`: what divides sizes there (`size_multiples`)."""
    params = {p.name: p for p in kernel.params}
    lanes = loop.stop.value if isinstance(loop.stop, IndexConst) else 0
    found = global_access(loop, params)
    if found is None:
        message = "expected one statement that loads from or stores to an array in global memory, got another body"
        return "VECTOR_BODY", message, "write `r[j] = x[first + j]` or `y[first + j] = r[j]`"
    store, read = cast("tuple[Store, Read]", moved(loop))
    param, index = found
    inside = [p for p in parts(store.value) if isinstance(p, Read | Shuffle | Vote)]
    is_load = store.array not in params
    if not is_load and any(isinstance(p, Shuffle | Vote) or p.array in params or p.array in _shared(kernel) for p in inside):
        message = f"expected the stored elements of {param.name} in registers, got a read of memory or a shuffle"
        return "VECTOR_BODY", message, "load or shuffle into registers before the loop"
    target = _shared(kernel).get(store.array)
    if is_load and ((target is None) == store.is_async or read.array != param.name):
        fix = "load into registers, or copy with memcpy_async to shared memory"
        return "VECTOR_BODY", f"expected registers as target of a vector load, got {store.array}", fix
    copied = copy_source(store) if store.is_async else None
    if copied is not None and any(p == IndexVar(loop.var) for p in parts(copied[1])):
        message = f"expected one condition for all elements of a copy, got one that depends on {loop.var}"
        return "COPY_VALID", message, "let whole vectors be valid or not, or use range(...)"
    if (vector := vector_type(param.dtype, lanes)) is None:
        message = f"expected 2 or 4 elements of up to {MOST_BYTES} bytes together, got {lanes} of {param.dtype.name}"
        return "VECTOR_TYPE", message, "use fewer elements, or range(...)"
    places = [(param, index)] if target is None else [(param, index), (target, store.index)]
    return next(
        (p for array, at in places if (p := _place_problem(array, at, loop.var, vector, kernel, multiples)) is not None), None
    )


def _place_problem(
    array: Param | Declare, index: tuple[IndexExpr, ...], var: str, vector: DType, kernel: Kernel, multiples: Mapping[str, int]
) -> tuple[str, str, str] | None:
    """The same of the elements of one array."""
    if not _runs_on(index, var):
        message = f"expected consecutive elements of {array.name} in the trips of the loop, got others"
        return "VECTOR_INDEX", message, f"write {array.name}[... + {var}]"
    if divisor(first_element(array, index, var), kernel.body, multiples) % vector.lanes:
        message = f"expected the first element of {array.name} at a multiple of {vector.lanes}, got an index not known to be one"
        rows = sorted({p.name for e in array.shape[1:] for p in parts(e) if isinstance(p, SizeVar)})
        by_size = f", put it under `if {rows[0]} % {vector.lanes} == 0:`" if rows else ""
        fix = f"make every term of the index a multiple of {vector.lanes} ({vector.name}){by_size}, or use range(...)"
        return "VECTOR_ALIGNMENT", message, fix
    return None


def aligned_params(kernel: Kernel) -> dict[str, int]:
    """Bytes at a multiple of which each array must begin for the kernel's vector accesses; arrays without such are left out."""
    params, found = {p.name: p for p in kernel.params}, dict[str, int]()
    for loop in _loops(kernel.body):
        access = global_access(loop, params) if loop.is_vector else None
        if access is not None and isinstance(loop.stop, IndexConst):
            param = access[0]
            found[param.name] = max(found.get(param.name, 0), param.dtype.size_bytes * loop.stop.value)
    return {name: found[name] for name in params if name in found}


def aligned_shared(kernel: Kernel) -> dict[str, int]:
    """The same of arrays in shared memory."""
    shared, found = _shared(kernel), dict[str, int]()
    for loop in _loops(kernel.body):
        copy = moved(loop) if loop.is_vector else None
        declared = shared.get(copy[0].array) if copy is not None else None
        if declared is not None and isinstance(loop.stop, IndexConst):
            found[declared.name] = max(found.get(declared.name, 0), declared.dtype.size_bytes * loop.stop.value)
    return found


def shared_bytes(kernel: Kernel) -> int:
    """Bytes of a block's arrays in shared memory, each behind the one before."""
    aligned, end = aligned_shared(kernel), 0
    for name, array in _shared(kernel).items():
        end = shared_end(end, array.dtype.size_bytes, math.prod(array.shape), aligned.get(name, 0))
    return end


def shared_end(begin: int, element_bytes: int, elements: int, aligned: int) -> int:
    """Where an array in shared memory ends that lies behind `begin`; `aligned`: bytes at a multiple of which it begins, or 0."""
    alignment = max(element_bytes, aligned)
    return -(-begin // alignment) * alignment + elements * element_bytes


def alignment_text(kernel: Kernel) -> str:
    """The same as a part of a domain; empty where nothing is asked."""
    by_size: dict[int, list[str]] = {}
    for name, size in aligned_params(kernel).items():
        by_size.setdefault(size, []).append(name)
    return "; ".join(
        f"{' and '.join(names)} {'begin at multiples' if names[1:] else 'begins at a multiple'} of {size} bytes"
        for size, names in by_size.items()
    )


def divisor(expr: IndexExpr, body: tuple[Stmt, ...], multiples: Mapping[str, int] = NO_MULTIPLES) -> int:
    """A number that divides every value of `expr`; 0 where the only value is 0. Variables are those of `body`, `multiples` what
    divides sizes."""
    return _divisor(expr, _Known(_bindings(body), multiples), frozenset())


@dataclass(frozen=True, slots=True)
class _Known:
    bindings: Mapping[str, list[IndexExpr]]
    multiples: Mapping[str, int]


def _divisor(expr: IndexExpr, known: _Known, seen: frozenset[str]) -> int:
    def of(e: IndexExpr) -> int:
        return _divisor(e, known, seen)

    match expr:
        case IndexConst(value):
            return abs(int(value))
        case SizeVar(name):
            return known.multiples.get(name, 1)
        case IndexVar(name) if name in known.bindings and name not in seen:
            return gcd(*(_divisor(e, known, seen | {name}) for e in known.bindings[name]))
        case IndexBinary("+" | "-" | "min" | "max", lhs, rhs):
            return gcd(of(lhs), of(rhs))
        case IndexBinary("*", lhs, rhs):
            return of(lhs) * of(rhs)
        case IndexBinary("<<", lhs, IndexConst(n)) if n >= 0:
            return of(lhs) << n
        case IndexBinary("%", lhs, rhs):
            return gcd(of(lhs), of(rhs))
        case IndexSelect(_, then, other):
            return gcd(of(then), of(other))
        case _:
            return 1


def _bindings(body: tuple[Stmt, ...]) -> dict[str, list[IndexExpr]]:
    """Expressions whose values, and sums of them, a variable can have."""
    found: dict[str, list[IndexExpr]] = {}
    for stmt in _statements(body):
        match stmt:
            case SetIndex(name, expr):
                found.setdefault(name, []).append(expr)
            case For(var, start, _, step):
                found.setdefault(var, []).extend((start, IndexConst(step)))
            case _:
                pass
    return found


def _runs_on(index: tuple[IndexExpr, ...], var: str) -> bool:
    """Whether one more trip is one more along the last axis, and nothing else."""
    uses = [p for p in parts(index) if p == IndexVar(var)]
    return len(uses) == 1 and _is_summand(index[-1], var)


def _is_summand(expr: IndexExpr, var: str) -> bool:
    match expr:
        case IndexVar(name):
            return name == var
        case IndexBinary("+", lhs, rhs):
            return _is_summand(lhs, var) or _is_summand(rhs, var)
        case IndexBinary("-", lhs, _):
            return _is_summand(lhs, var)
        case _:
            return False


def _shared(kernel: Kernel) -> dict[str, Declare]:
    return {s.name: s for s in _statements(kernel.body) if isinstance(s, Declare) and s.space == "shared"}


def _loops(body: tuple[Stmt, ...]) -> Iterator[For]:
    return (s for s in _statements(body) if isinstance(s, For))


def _statements(body: tuple[Stmt, ...]) -> Iterator[Stmt]:
    for stmt in body:
        yield stmt
        if isinstance(stmt, For):
            yield from _statements(stmt.body)
        elif isinstance(stmt, If):
            yield from _statements((*stmt.then, *stmt.other))
