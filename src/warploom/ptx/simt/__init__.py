"""The concrete SIMT interpreter of PTX.

Takes a module, the name of a kernel, the launch shape and the arrays. Gives the arrays afterwards, faults, races, and counts of
instructions, sectors and wavefronts. Open `launch.py` first, then `running.py`.
"""

from warploom.ptx.simt.arguments import Argument
from warploom.ptx.simt.counts import Conflict, Counts, LineCounts, SharedRequest
from warploom.ptx.simt.findings import BETWEEN_BLOCKS, IN_FLIGHT, SHARED, STILL_READ, WITHOUT_FENCE, WITHOUT_PROXY_FENCE, Finding
from warploom.ptx.simt.images import Surface, Texture
from warploom.ptx.simt.launch import Launch, launch
from warploom.ptx.simt.supported import SUPPORTED, is_supported
from warploom.ptx.simt.tensor_maps import SWIZZLES, TensorMap
from warploom.ptx.simt.variables import shared_layout

__all__ = [
    "BETWEEN_BLOCKS", "IN_FLIGHT", "SHARED", "STILL_READ", "SUPPORTED", "SWIZZLES", "WITHOUT_FENCE", "WITHOUT_PROXY_FENCE",
    "Argument", "Conflict", "Counts", "Finding", "Launch", "LineCounts", "SharedRequest", "Surface", "TensorMap", "Texture",
    "is_supported", "launch", "shared_layout",
]  # fmt: skip
