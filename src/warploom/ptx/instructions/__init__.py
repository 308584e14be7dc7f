"""Every PTX instruction: where the ISA defines it, what its operands are for, what it does to memory.

Takes an instruction of the syntax tree. Gives its row of the table and the roles and types of its operands. Open `rows.py`
first: it explains the notation of the tables; `lookup.py` answers the questions.
"""

from warploom.ptx.instructions.document import instruction_table
from warploom.ptx.instructions.forms import has_form, types_of_forms
from warploom.ptx.instructions.lookup import (
    ROWS,
    SPACES,
    TYPES,
    destinations,
    find_row,
    is_memory_barrier,
    is_strong,
    operand_names,
    operand_slots,
    reads_memory,
    sources,
    space,
    types,
    writes_memory,
)
from warploom.ptx.instructions.operands import COMBINING, data_types, operand_faults
from warploom.ptx.instructions.rows import FLOAT, HALF, INTEGER, Collective, InstructionClass, Row, Slot

__all__ = [
    "COMBINING", "FLOAT", "HALF", "INTEGER", "ROWS", "SPACES", "TYPES", "Collective", "InstructionClass", "Row", "Slot",
    "data_types", "destinations", "find_row", "has_form", "instruction_table", "is_memory_barrier", "is_strong", "operand_faults",
    "operand_names", "operand_slots", "reads_memory", "sources", "space", "types", "types_of_forms", "writes_memory",
]  # fmt: skip
