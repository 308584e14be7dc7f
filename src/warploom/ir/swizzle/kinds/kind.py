"""The description of one kind of hole; everything else about holes is derived from it.

The parser reads the word's arguments by its signature, the text form and the verifier check the kind and the number of
arguments, the network makes tables of the hole's values, the search asks for the functions, docs/language.md shows the rows.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Literal

from warploom.ir.kernel.nodes import Hole, IndexConst, IndexExpr
from warploom.ir.swizzle.functions import FunctionSet, IntArray


class HoleKind(ABC):
    """One kind of hole. Parameters of `word`, besides `name`, are those in `operands`, or fields of `Hole`."""

    word: Callable[..., Any]
    """The function that stands in sketches. Its signature and docstring are the reference of the language."""
    notes: str
    """Further notes for users, in Markdown, for docs/language.md."""
    operands: tuple[str, ...] = ()
    """Parameters that are the hole's arguments; one `*name` takes any number of them."""
    takes: Literal["indices", "integers", "alternatives"] = "indices"
    """indices: a function of its arguments. integers: its operands are the constants. alternatives: it picks an operand."""
    grammars: tuple[str, ...] = ("full",)
    """Words that `grammar=` accepts."""
    n_counts: str = "the number of values"
    """The meaning of `n`, in words, for messages."""
    is_condition: bool = False

    @property
    def name(self) -> str:
        return self.word.__name__

    @property
    def arity(self) -> int | None:
        """Number of arguments; None for any number."""
        parameters = inspect.signature(self.word).parameters
        varies = any(parameters[name].kind is inspect.Parameter.VAR_POSITIONAL for name in self.operands)
        return None if varies else len(self.operands)

    def fault(self, hole: Hole) -> tuple[str, str] | None:
        """The fault in the options of `hole` (expected ..., got ...) and its fix; None: there is no fault."""
        return None

    def values(self, hole: Hole) -> int:
        """Number of values; the search numbers them from 0."""
        return hole.n

    def numbers(self, hole: Hole) -> Sequence[int] | None:
        """The index that each value is; None if the hole's arguments say it."""
        return range(self.values(hole))

    def first_below(self, hole: Hole) -> int | None:
        """The first argument lies in 0 .. this number - 1; None if it may be any integer."""
        return None

    @abstractmethod
    def functions(self, hole: Hole, points: IntArray, space: int) -> FunctionSet:
        """The functions that `hole` may become in a search space, on its points ([points, arguments], distinct rows)."""

    def widens(self, hole: Hole) -> bool:
        """Whether space 2 may offer more than space 1."""
        return False

    def narrower(self, hole: Hole) -> str:
        """How the sketch may offer fewer functions, as part of a sentence; empty where it cannot."""
        return ""

    def wider(self, hole: Hole, points: IntArray) -> str:
        """A word or option that offers more functions on these points; empty where nothing does."""
        return ""

    def unused(self, hole: Hole) -> IndexExpr:
        """The completion of a hole that no thread evaluates."""
        return IndexConst(0)
