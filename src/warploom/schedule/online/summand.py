"""One element's part of a sum, as text that `scan` reads."""

from __future__ import annotations

from warploom.schedule.backbone import Backbone, Carry, Constant, Instruction, Operand, Operator, Parameter, Result

_SIGNS = {Operator.ADD: "+", Operator.SUB: "-", Operator.MUL: "*"}


class NoSummandError(Exception):
    """Why what a sum adds up has no such text."""


def summand_of(stage: Backbone, total: int, top: int, element: int, fields: dict[int, str]) -> str:
    """One element's part of a sum, over `u`, `{top}` and names for values that do not need the maximum, which `fields` gets
    by instruction.

    top: the maximum; element: the instruction that it is of. NoSummandError.
    """
    instruction = stage.instructions[total]
    parts = [o for o in instruction.operands if not isinstance(o, Carry)]
    reader = _Reader(stage, top, element, fields, _needing(stage, top))
    texts = [reader.text(o) for o in parts]
    match instruction.operator:
        case Operator.ADD if len(parts) == 1:
            return texts[0]
        case Operator.FMA if isinstance(instruction.operands[2], Carry):
            return f"({texts[0]}) * ({texts[1]})"
        case operator:
            raise NoSummandError(f"expected a sum, got {operator} in {instruction.name}")


def _needing(stage: Backbone, top: int) -> set[int]:
    found = {top}
    for n, instruction in enumerate(stage.instructions):
        if any(isinstance(o, Result) and o.instruction in found for o in instruction.operands):
            found.add(n)
    return found


class _Reader:
    def __init__(self, stage: Backbone, top: int, element: int, fields: dict[int, str], needing: set[int]) -> None:
        self.stage, self.top, self.element, self.fields, self.needing = stage, top, element, fields, needing

    def text(self, operand: Operand) -> str:
        match operand:
            case Constant(value):
                return repr(value)
            case Result(number, _, _) if number == self.top:
                return "{top}"
            case Result(number, _, _) if number == self.element:
                return "u"
            case Result(number, _, _) if number not in self.needing:
                return self.fields.setdefault(number, f"x{len(self.fields)}")
            case Result(number, _, _):
                return self.computed(number)
            case Parameter(name):
                raise NoSummandError(f"expected the scalar {name} in what the maximum is of, or behind the sums")
            case _:
                raise NoSummandError("expected numbers and values of instructions")

    def computed(self, number: int) -> str:
        instruction = self.stage.instructions[number]
        if instruction.carry is not None or instruction.access is not None:
            raise NoSummandError(f"expected arithmetic on one element, got {instruction.name}")
        texts = [f"({self.text(o)})" for o in instruction.operands]
        match instruction.operator:
            case Operator.ADD | Operator.SUB | Operator.MUL as operator:
                return f" {_SIGNS[operator]} ".join(texts)
            case Operator.FMA:
                return f"{texts[0]} * {texts[1]} + {texts[2]}"
            case Operator.NEG:
                return f"-{texts[0]}"
            case Operator.EXP:
                return f"math.exp{texts[0]}"
            case Operator.MOVE:
                return texts[0]
            case Operator.CAST if self._holds(instruction):
                return texts[0]
            case operator:
                raise NoSummandError(f"expected sums, products and powers of e, got {operator} in {instruction.name}")

    def _holds(self, conversion: Instruction) -> bool:
        """Whether the type holds the value but for its rounding, whichever maximum is known: it is wider, or the value is at most
        1, a power of e of the element less the maximum."""
        operand = conversion.operands[0]
        if not isinstance(operand, Result) or not conversion.dtype.is_float:
            return False
        source = self.stage.instructions[operand.instruction]
        if source.dtype.is_float and source.dtype.bits < conversion.dtype.bits:
            return True
        power = source.operands[0] if source.operator is Operator.EXP else None
        return isinstance(power, Result) and self._is_difference(self.stage.instructions[power.instruction])

    def _is_difference(self, instruction: Instruction) -> bool:
        of = [o.instruction if isinstance(o, Result) else -1 for o in instruction.operands]
        return instruction.operator is Operator.SUB and of == [self.element, self.top]
