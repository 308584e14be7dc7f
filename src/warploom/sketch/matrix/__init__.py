"""Matrix programs of Swizzle Inventor's paper as text: loops over lanes are written out, no SIMT is around them.

Takes a text like the paper's Listings 1, 2 and 4. Gives the same sketch as Python for one warp, which is then
read like any other. Open `parse.py` first, then `simt.py`.
"""

from warploom.sketch.matrix.parse import parse
from warploom.sketch.matrix.simt import python

__all__ = ["parse", "python"]
