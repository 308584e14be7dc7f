"""Limits of a launch on any NVIDIA GPU.

Source: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
"""

from __future__ import annotations

MAX_GRID = (2**31 - 1, 65535, 65535)
"""Blocks along x, y, z."""
MAX_BLOCK = (1024, 1024, 64)
"""Threads of a block along x, y, z."""
MAX_BLOCK_THREADS = 1024
STATIC_SHARED_BYTES = 48 * 1024
"""Shared memory of a block that a kernel may declare; more is dynamic and must be allowed before a launch."""
INT_MAX = 2**31 - 1
"""The largest `int` of C on the GPU and beside it."""
