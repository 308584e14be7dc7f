"""Built-in sets of gathers of the dataflow language.

Takes a call in a program, such as `xform(...)`, with the shapes around it. Gives the set's members as arrays of source
positions, each with a cost and a text. Open `catalogue.py` first: it lists every set by name.
"""

from warploom.ir.dataflow.sets.call import Option
from warploom.ir.dataflow.sets.catalogue import NAMES, gather_set
from warploom.ir.dataflow.sets.forms import tabulated

__all__ = ["NAMES", "Option", "gather_set", "tabulated"]
