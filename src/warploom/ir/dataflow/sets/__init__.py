"""Built-in sets of gathers of the dataflow language."""

from warploom.ir.dataflow.sets.call import Option
from warploom.ir.dataflow.sets.catalogue import NAMES, gather_set
from warploom.ir.dataflow.sets.forms import tabulated

__all__ = ["NAMES", "Option", "gather_set", "tabulated"]
