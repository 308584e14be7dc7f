"""A language for choices over the objects of a problem and constraints between them, and its propagation. Knows no kernels.

Takes a description (`Space`) and the objects of one problem (`Inputs`). Gives an `Instance`, whose candidates are narrowed
decision by decision until every choice has one value or there is a contradiction. Open `description.py` first, then
`instance.py`.
"""

from warploom.solve.space.compiled import CompiledSpace
from warploom.solve.space.description import Space
from warploom.solve.space.engine import MEMBER, NEVER, POSSIBLE
from warploom.solve.space.inputs import Inputs, Lowering, Thing, Things
from warploom.solve.space.instance import Candidate, Instance
from warploom.solve.space.nodes import (
    Argument,
    Counter,
    EnumChoice,
    Fact,
    Function,
    IntegerChoice,
    IntegerTerm,
    ObjectSet,
    Quantifiers,
)
from warploom.solve.space.restrictions import IS_POSSIBLE, IS_REFUTED, IS_UNKNOWN, find_possible
from warploom.solve.space.trace import Step, last_step, removal, removal_at_root

__all__ = [
    "IS_POSSIBLE", "IS_REFUTED", "IS_UNKNOWN", "MEMBER", "NEVER", "POSSIBLE", "Argument", "Candidate", "CompiledSpace",
    "Counter", "EnumChoice", "Fact", "Function", "Inputs", "Instance", "IntegerChoice", "IntegerTerm", "Lowering", "ObjectSet",
    "Quantifiers", "Space", "Step", "Thing", "Things", "find_possible", "last_step", "removal", "removal_at_root",
]  # fmt: skip
