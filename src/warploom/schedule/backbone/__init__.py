"""The semantic backbone of a kernel: nodes, text form, verifier, reference evaluation."""

from warploom.schedule.backbone.nodes import (
    Access,
    Axis,
    AxisSum,
    Backbone,
    Carry,
    Constant,
    Dim,
    Extent,
    Instruction,
    Operand,
    Operator,
    Parameter,
    Region,
    Result,
    Role,
    Scope,
)

__all__ = [
    "Access", "Axis", "AxisSum", "Backbone", "Carry", "Constant", "Dim", "Extent", "Instruction", "Operand", "Operator",
    "Parameter", "Region", "Result", "Role", "Scope",
]  # fmt: skip
