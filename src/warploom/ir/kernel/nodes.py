"""Kernel IR: a CUDA-like kernel whose control and indices do not depend on the data; holes allowed.

    kernel  := sizes params block grid body                 one thread block per grid point, threads in lockstep between barriers
    param   := name : space dtype [index, ...]              space = global | constant; shape over the run-time sizes
    stmt    := declare | set_index | set_value | store | accumulator | accumulate | for | if | sync | commit | wait
    index   := const | var | builtin | size | index op index | index cmp index | and/or/not | index if index else index | hole
    value   := literal | read | var | value op value | value if index else value | shuffle | cast | from_index
               | make_vector | component | accumulated | holds | vote | byte_perm | lop3

Two sorts of expression that never mix: *index* expressions (integers and truth values known before any data is read: ids,
loop variables, sizes, holes) and *value* expressions (data). This is the paper's "input-independent" made a type
(Source: Swizzle Inventor, sections 1, 3.1). Index arithmetic is Python's: unbounded integers, floor division, `%` with the
sign of the divisor. Value arithmetic is the dtype's; `//` and `%` of integers
round down, as Python's.

Bulk load/store utilities and device functions do not appear: the sketch front end expands them (section 6.2), which leaves
`For.note` and `AssignValue`-level names for the code generator to print something readable.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from warploom.core import NOWHERE, DType, Span

Space = Literal["global", "constant", "shared", "register"]
BuiltinName = Literal["thread_id", "block_id", "block_dim", "grid_dim"]
IndexOp = Literal["+", "-", "*", "//", "%", "&", "|", "^", "<<", ">>", "min", "max"]
CompareOp = Literal["==", "!=", "<", "<=", ">", ">="]
ValueOp = Literal["+", "-", "*", "/", "//", "%", "min", "max", "&", "|", "^", "<<", ">>", "neg", "~", "popc"]

UNARY = ("neg", "~", "popc")
"""Operations of one value; popc counts the ones of a word of 32 or 64 bits, in its type."""

# ---------------------------------------------------------------- index expressions


@dataclass(frozen=True, slots=True)
class IndexConst:
    """An integer or a truth value."""

    value: int | bool


@dataclass(frozen=True, slots=True)
class IndexVar:
    """A loop variable or a variable set by `SetIndex`."""

    name: str


@dataclass(frozen=True, slots=True)
class Builtin:
    """CUDA's threadIdx, blockIdx, blockDim, gridDim; axis 0, 1, 2 = x, y, z."""

    name: BuiltinName
    axis: int


@dataclass(frozen=True, slots=True)
class SizeVar:
    """A run-time size of the whole kernel, a non-negative integer parameter."""

    name: str


@dataclass(frozen=True, slots=True)
class IndexBinary:
    op: IndexOp
    lhs: IndexExpr
    rhs: IndexExpr


@dataclass(frozen=True, slots=True)
class Compare:
    op: CompareOp
    lhs: IndexExpr
    rhs: IndexExpr


@dataclass(frozen=True, slots=True)
class Logical:
    op: Literal["and", "or", "not"]
    operands: tuple[IndexExpr, ...]


@dataclass(frozen=True, slots=True)
class IndexSelect:
    """`then if cond else other`."""

    cond: IndexExpr
    then: IndexExpr
    other: IndexExpr


@dataclass(frozen=True, slots=True)
class HoleUse:
    """The value of a hole at this place; `args` instantiate the hole's parameters (for `choose`: the alternatives)."""

    hole: str
    """Name of a `Hole` in `Kernel.holes`."""
    args: tuple[IndexExpr, ...]


@dataclass(frozen=True, slots=True)
class HoleArg:
    """Parameter number `position` of a hole inside one of its completions; replaced by the use's argument."""

    position: int


IndexExpr: TypeAlias = (
    IndexConst | IndexVar | Builtin | SizeVar | IndexBinary | Compare | Logical | IndexSelect | HoleUse | HoleArg
)

# ---------------------------------------------------------------- value expressions


@dataclass(frozen=True, slots=True)
class ValueConst:
    """A number of the given type (every component, for a vector type)."""

    value: int | float
    dtype: DType


@dataclass(frozen=True, slots=True)
class Read:
    """An element of an array in any space; register arrays are per thread, shared ones per block."""

    array: str
    index: tuple[IndexExpr, ...]
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class ValueVar:
    """A scalar (or vector) register variable set by `SetValue`."""

    name: str


@dataclass(frozen=True, slots=True)
class Arith:
    """`op` folded over the operands from the left; `op` may be the name of an operator in `Kernel.operators`."""

    op: str
    operands: tuple[ValueExpr, ...]


@dataclass(frozen=True, slots=True)
class ValueSelect:
    """`then if cond else other`; the branch not taken is not evaluated (a masked read may be out of bounds)."""

    cond: IndexExpr
    then: ValueExpr
    other: ValueExpr


@dataclass(frozen=True, slots=True)
class Shuffle:
    """CUDA's `__shfl_*_sync`: every active lane gets `value` of another lane of its warp (segments of `width` lanes).

    kind idx: lane = operand mod width; up: self - operand; down: self + operand; xor: self ^ operand; outside the segment
    (up, down, xor) a lane keeps its own value. Reading a lane that is not active is an error.
    Source: CUDA C++ Programming Guide, warp shuffle functions.
    """

    kind: Literal["idx", "up", "down", "xor"]
    value: ValueExpr
    operand: IndexExpr
    width: int
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Holds:
    """1 if a comparison of two values of one type holds, else 0, as u32. A NaN differs from everything."""

    op: CompareOp
    lhs: ValueExpr
    rhs: ValueExpr


@dataclass(frozen=True, slots=True)
class Vote:
    """A vote or a match of all lanes of the warp, as u32: CUDA's `__ballot_sync`, `__match_any_sync` and their like.

    ballot: bit l is set if `value` (u32) is not 0 in lane l. any, all: 1 if it is not 0 in some lane, in every lane; else 0.
    match_any: bit l is set if `value`, an integer of 32 or 64 bits, is in lane l what it is in this lane. match_all: the bits of
    all lanes if it is the same in all of them, else 0. A lane that does not take part is an error. Source: CUDA C++ Programming
    Guide, warp vote functions and warp match functions.
    """

    kind: Literal["ballot", "any", "all", "match_any", "match_all"]
    value: ValueExpr
    span: Span = field(default=NOWHERE, compare=False)

    @property
    def is_match(self) -> bool:
        """Whether lanes compare their values."""
        return self.kind in ("match_any", "match_all")


@dataclass(frozen=True, slots=True)
class Mixed:
    """A u32 made of the bits of u32 words, as an index expression says.

    byte_perm, of two words: byte k is byte `control >> 4 k & 7` of the eight of the first and the second. lop3, of three: each
    bit is bit `4 a + 2 b + c` of `control & 255`. Source: PTX ISA, prmt (default mode, without replicated signs) and lop3.
    """

    op: Literal["byte_perm", "lop3"]
    operands: tuple[ValueExpr, ...]
    control: IndexExpr


@dataclass(frozen=True, slots=True)
class Cast:
    dtype: DType
    value: ValueExpr


@dataclass(frozen=True, slots=True)
class FromIndex:
    """An index expression used as data."""

    expr: IndexExpr
    dtype: DType


@dataclass(frozen=True, slots=True)
class MakeVector:
    dtype: DType
    items: tuple[ValueExpr, ...]


@dataclass(frozen=True, slots=True)
class Component:
    """Component 0..3 (x, y, z, w) of a vector value."""

    value: ValueExpr
    position: int


@dataclass(frozen=True, slots=True)
class Accumulated:
    """finalize(state) of accumulator element `index` (paper section 4.2, `eval`)."""

    accumulator: str
    index: tuple[IndexExpr, ...]
    span: Span = field(default=NOWHERE, compare=False)


ValueExpr: TypeAlias = (
    ValueConst
    | Read
    | ValueVar
    | Arith
    | ValueSelect
    | Shuffle
    | Holds
    | Vote
    | Mixed
    | Cast
    | FromIndex
    | MakeVector
    | Component
    | Accumulated
)

# ---------------------------------------------------------------- statements


@dataclass(frozen=True, slots=True)
class Declare:
    """A shared or register array of constant shape; contents undefined until written."""

    name: str
    space: Space
    dtype: DType
    shape: tuple[int, ...]
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class SetIndex:
    name: str
    expr: IndexExpr
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class SetValue:
    name: str
    dtype: DType
    value: ValueExpr
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Store:
    array: str
    index: tuple[IndexExpr, ...]
    value: ValueExpr
    span: Span = field(default=NOWHERE, compare=False)
    is_async: bool = False
    """A copy from global to shared memory that goes on until its thread waits for it (`ir.kernel.pending`); `value` is a read."""


@dataclass(frozen=True, slots=True)
class Accumulator:
    """Per-thread accumulator(s): state starts at `init`; `finalize` maps the state (as `ValueVar("$state")`) to the result."""

    name: str
    dtype: DType
    shape: tuple[int, ...]
    """() for one accumulator, else a register array of them."""
    op: str
    """Outer operator: commutative and associative."""
    init: int | float
    finalize: ValueExpr
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Accumulate:
    """`if guard: state[index] = state[index] op value`; the unit of the paper's cost (section 4.3)."""

    accumulator: str
    index: tuple[IndexExpr, ...]
    value: ValueExpr
    guard: IndexExpr
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class For:
    """`for var in range(start, stop, step)`; bounds are the same for all threads. Only a spec may have a bound over sizes."""

    var: str
    start: IndexExpr
    stop: IndexExpr
    step: int
    body: tuple[Stmt, ...]
    note: str = ""
    """The statement that the front end expanded to this loop, for the printed comment."""
    span: Span = field(default=NOWHERE, compare=False)
    is_vector: bool = False
    """The trips are one access of the machine to global memory (`ir.kernel.vectors`); what they do is the same."""


@dataclass(frozen=True, slots=True)
class If:
    cond: IndexExpr
    then: tuple[Stmt, ...]
    other: tuple[Stmt, ...] = ()
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Sync:
    """`__syncthreads()`: every thread of the block must reach it."""

    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class CommitCopies:
    """`__pipeline_commit()`: the asynchronous copies that each thread has begun since its last one are a group."""

    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class WaitCopies:
    """`__pipeline_wait_prior(left)`: each thread waits until at most the newest `left` of its groups go on."""

    left: int
    span: Span = field(default=NOWHERE, compare=False)


Meeting: TypeAlias = Sync | CommitCopies | WaitCopies
"""Statements that every thread of the block reaches, or none."""
Stmt: TypeAlias = Declare | SetIndex | SetValue | Store | Accumulator | Accumulate | For | If | Meeting

# ---------------------------------------------------------------- kernel


@dataclass(frozen=True, slots=True)
class Param:
    name: str
    space: Literal["global", "constant"]
    dtype: DType
    shape: tuple[IndexExpr, ...]
    """Extents over `SizeVar`s and constants, row-major."""
    is_output: bool
    """Stored to by the kernel. An output that is also read keeps its old contents as input."""
    is_input: bool = True
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Hole:
    """An open decision and the grammar its completion comes from (paper sections 3.2, 5)."""

    name: str
    """The user's name, else `line:col`; a copy made by inlining a device function adds `@call-line:col`."""
    kind: str
    """The word that stands for it in sketches; `ir.swizzle.kinds` has them all, and says which of the fields below it uses."""
    arg_names: tuple[str, ...]
    """Text of each argument in the sketch; completions print in these words."""
    n: int = 0
    """part: number of parts; xform, bits, compose: number of indices; power: one above the powers; choose: number of
    alternatives."""
    grammar: str = "full"
    """cond: full | constant-free | modular. xform: full | ungrouped | rotation (no fan)."""
    coefficients: tuple[int, ...] | None = None
    """xform: the only values (mod n) that cf and cr may take; None = all of 0..n-1."""
    constants: tuple[int, ...] | None = None
    """cond: extra constants offered in every space. xform: the only values of c. const: the values. None = the grammar's own."""
    modulus: int = 0
    """cond, modular grammar: `x op ((a*y + b) mod modulus)`."""
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Operator:
    """A user-declared commutative associative operator; `body` over `ValueVar("$a")`, `ValueVar("$b")`."""

    name: str
    identity: int | float | None
    body: ValueExpr
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Kernel:
    name: str
    params: tuple[Param, ...]
    sizes: tuple[str, ...]
    """Run-time sizes, in parameter order after the arrays."""
    block: tuple[int, int, int]
    grid: tuple[IndexExpr, IndexExpr, IndexExpr]
    warp_size: int
    body: tuple[Stmt, ...]
    holes: tuple[Hole, ...] = ()
    operators: tuple[Operator, ...] = ()
    file: str = ""
    span: Span = field(default=NOWHERE, compare=False)

    @property
    def threads(self) -> int:
        """Threads per block."""
        return self.block[0] * self.block[1] * self.block[2]
