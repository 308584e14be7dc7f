"""Loop nests of fully specified implementations: nodes, text form, verifier, interpreter."""

from warploom.schedule.nest.nodes import (
    Affine,
    Argument,
    Barrier,
    Buffer,
    Cache,
    Combine,
    Compute,
    Guard,
    Kind,
    Load,
    Loop,
    Memory,
    Nest,
    Node,
    Ref,
    Register,
    Space,
    Store,
    Value,
)

__all__ = [
    "Affine", "Argument", "Barrier", "Buffer", "Cache", "Combine", "Compute", "Guard", "Kind", "Load", "Loop", "Memory", "Nest",
    "Node", "Ref", "Register", "Space", "Store", "Value",
]  # fmt: skip
