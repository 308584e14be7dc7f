"""The address map: where each state space lies among generic addresses (PTX ISA 5.1, 9.7.10 cvta).

Constants and kernel parameters live among the global regions, so their generic address is their own.
"""

from __future__ import annotations

SHARED_WINDOW = 0x0100_0000
SHARED_WINDOW_BYTES = 0x0100_0000
LOCAL_WINDOW = 0x0200_0000
LOCAL_WINDOW_BYTES = 0x0600_0000
"""The stack of a thread, which also holds the parameters of device functions."""
FUNCTIONS = 0x0800_0000
"""Addresses of functions: 16 bytes apart."""
GLOBAL_START_32 = 0x1000_0000
GLOBAL_START_64 = 0x7F10_0000_0000
CLUSTER_GENERIC = 0xE000_0000
"""Shared memory of the blocks of a cluster, by rank, SHARED_WINDOW_BYTES each; the own block's has its own window, too."""
CLUSTER_END = CLUSTER_GENERIC + 16 * SHARED_WINDOW_BYTES
CLUSTER_SHARED = CLUSTER_GENERIC - SHARED_WINDOW
"""The same as addresses in shared::cluster: cvta adds and subtracts the beginning of the shared window."""
