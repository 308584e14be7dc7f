"""Ready sketches, each with its specification, its shared-memory baseline and a NumPy reference.

Takes the name of a case (`stencil2d-9`, `mult64`, ...). Gives an `Example` with sketch, spec and inputs. The case studies of
the Swizzle Inventor paper are here at 32 lanes. Open `registry.py` first: it lists every case.
"""

from warploom.kernels.binary_field import is_irreducible, pentanomial
from warploom.kernels.example import Example, random_arrays
from warploom.kernels.field import ffm_reg, ffm_shared
from warploom.kernels.image import conv2d, conv2d_shared, stencil2d, stencil2d_shared
from warploom.kernels.line import conv1d, conv1d_shared, stencil1d, stencil1d_shared
from warploom.kernels.polynomial import (
    mult32_baseline,
    mult32_reg,
    mult32_shared,
    mult64_baseline,
    mult64_reg,
    mult64_shared,
)
from warploom.kernels.programs import PROGRAM_NAMES, find_program, is_program
from warploom.kernels.published import PUBLISHED, Published
from warploom.kernels.registry import MORE_NAMES, NAMES, WALL_NAMES, examples, find, is_example
from warploom.kernels.structs import store_crc, store_rcr, store_shared, sum_crc, sum_shared
from warploom.kernels.tiled import complete_example, fill_from_tile

__all__ = [
    "MORE_NAMES", "NAMES", "PROGRAM_NAMES", "PUBLISHED", "WALL_NAMES", "Example", "Published", "complete_example", "conv1d",
    "conv1d_shared", "conv2d", "conv2d_shared", "examples", "ffm_reg", "ffm_shared", "fill_from_tile", "find",
    "find_program", "is_example", "is_irreducible", "is_program", "mult32_baseline", "mult32_reg", "mult32_shared",
    "mult64_baseline", "mult64_reg", "mult64_shared", "pentanomial", "random_arrays", "stencil1d", "stencil1d_shared",
    "stencil2d", "stencil2d_shared", "store_crc", "store_rcr", "store_shared", "sum_crc", "sum_shared",
]  # fmt: skip
