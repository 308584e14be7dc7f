"""Built-in sets of gathers of the dataflow language."""

from warploom.ir.dataflow.sets.call import Option
from warploom.ir.dataflow.sets.catalogue import NAMES, gather_set
from warploom.ir.dataflow.sets.forms import tabulated
from warploom.ir.dataflow.sets.parts import Supporting

__all__ = ["NAMES", "Option", "Supporting", "gather_set", "tabulated"]
