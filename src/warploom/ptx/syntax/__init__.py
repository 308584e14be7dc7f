"""PTX text and its syntax tree.

Takes the text of a PTX module. Gives a `Module` that prints as exactly this text; errors have a place and a fix. Open
`parse.py` first, then `nodes.py`.
"""

from warploom.ptx.syntax.constants import integer_literal
from warploom.ptx.syntax.nodes import (
    NEW,
    Address,
    AddressOf,
    Block,
    Declaration,
    Declarator,
    Directive,
    Extent,
    Float,
    Function,
    Group,
    Guard,
    Initialiser,
    Instruction,
    Integer,
    Item,
    Label,
    Module,
    Name,
    Negation,
    Operand,
    Pair,
    Section,
    Setting,
    Statement,
    Subscript,
    Sum,
    Vector,
)  # fmt: skip
from warploom.ptx.syntax.parse import parse
from warploom.ptx.syntax.text import declaration_text, exact, instruction_text, normal, operand_text
from warploom.ptx.syntax.tokens import Source

__all__ = [
    "NEW", "Address", "AddressOf", "Block", "Declaration", "Declarator", "Directive", "Extent", "Float", "Function", "Group",
    "Guard", "Initialiser", "Instruction", "Integer", "Item", "Label", "Module", "Name", "Negation", "Operand", "Pair", "Section",
    "Setting", "Source", "Statement", "Subscript", "Sum", "Vector", "declaration_text", "exact", "instruction_text",
    "integer_literal", "normal", "operand_text", "parse",
]  # fmt: skip
