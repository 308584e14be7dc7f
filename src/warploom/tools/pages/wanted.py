"""Values that lanes need where a hole decides, and who has it: a row of the drawing, and a sentence for each step with holes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from warploom.tools.pages.movement import OTHER_WARP, Cell, MemoryCell, Movement, RegisterCell, Step, Value, Write, element_name

_LONGEST = 60
"""Letters of a value in a sentence."""
_MOST_LANES = 3
"""Lanes that a sentence names."""


@dataclass(frozen=True, slots=True)
class Wanted:
    values: tuple[Value | None, ...]
    """The value that each lane needs in this step; None: nothing, or it is not one value."""
    sentence: str
    """A sentence about the lane that shows most, such as `lane 31 needs x[32]: only lane 0 has it, in inp[1]`."""


def wanted_in(movement: Movement) -> Mapping[int, Wanted]:
    """By number of the step, for the steps in which holes decide. What a choice sends is wanted by the lanes that receive it."""
    found: dict[int, Wanted] = {}
    held: dict[Cell, Value] = {}
    for number, step in enumerate(movement.steps):
        if step.holes:
            arrival = _arrival(movement.steps, number)
            found[number] = Wanted(_values(arrival or step, movement.lanes), _sentence(step, arrival, held))
        held |= {write.cell: write.value for write in step.writes}
    return found


def sentence_of(hole: str, movement: Movement, wanted: Mapping[int, Wanted]) -> str:
    """One sentence for a hole, with its loops: of the first step in which it gives lanes different values and something moves."""
    steps = [(n, values) for n, step in enumerate(movement.steps) for values in step.holes if values.hole == hole and n in wanted]
    steps = [(n, values) for n, values in steps if wanted[n].sentence]
    if not steps:
        return ""
    differing = [n for n, values in steps if len({v for v in values.values if v is not None}) > 1] or [steps[0][0]]
    number = next((n for n in differing if "itself" not in wanted[n].sentence), differing[0])
    loops = ", ".join(f"{name} = {value}" for name, value in movement.steps[number].loops)
    return f"{loops}: {wanted[number].sentence}" if loops else wanted[number].sentence


def _own(step: Step) -> list[Write]:
    return [write for write in step.writes if write.lane != OTHER_WARP]


def _arrival(steps: Sequence[Step], number: int) -> Step | None:
    """The shuffle that takes what this step chooses to send."""
    sent = {write.cell for write in steps[number].writes}
    if steps[number].kind != "choose":
        return None
    for later in steps[number + 1 :]:
        if later.kind == "shuffle" and any(origin in sent for write in later.writes for origin in write.origins):
            return later
        if any(write.cell in sent for write in later.writes):
            return None
    return None


def _values(step: Step, lanes: int) -> tuple[Value | None, ...]:
    values: list[Value | None] = [None] * lanes
    for write in _own(step):
        if step.kind == "accumulate":
            elements = [element_name(cell) for cell in write.origins if isinstance(cell, MemoryCell)]
            values[write.lane] = Value(elements[0], (elements[0],)) if len(elements) == 1 else None
        else:
            values[write.lane] = write.value
    return tuple(values)


def _sentence(step: Step, arrival: Step | None, held: Mapping[Cell, Value]) -> str:
    writes = _own(step)
    if not writes:
        return ""
    if step.kind == "shuffle":
        return _received(_rarest(writes, [_distance(write) for write in writes]), held)
    given = {lane: value for values in step.holes[:1] for lane, value in enumerate(values.values)}
    write = _rarest(writes, [given.get(write.lane) for write in writes])
    if arrival is not None:
        return _sent(write, arrival)
    names = [name for cell in write.origins if (name := _place(cell, write.lane, held))]
    if isinstance(write.cell, MemoryCell):
        return f"lane {write.lane} stores {_text(write.value)} in {element_name(write.cell)}"
    if step.kind in ("load", "choose") and names:
        return f"lane {write.lane} takes {names[0]}"
    elements = [element_name(cell) for cell in write.origins if isinstance(cell, MemoryCell)]
    if step.kind == "accumulate" and elements:
        return f"lane {write.lane} takes {', '.join(elements)} for its contribution"
    return f"lane {write.lane} computes {_text(write.value)}"


def _rarest(writes: Sequence[Write], keys: Sequence[object]) -> Write:
    """The write whose key fewest others have; of several the last, where a warp ends and exceptions are."""
    counts = Counter(keys)
    fewest = min(counts.values())
    return next(write for write, key in zip(reversed(writes), reversed(keys), strict=True) if counts[key] == fewest)


def _distance(write: Write) -> int:
    return next((cell.lane - write.lane for cell in write.origins if isinstance(cell, RegisterCell)), 0)


def _received(write: Write, held: Mapping[Cell, Value]) -> str:
    needs = f"lane {write.lane} needs {_text(write.value)}"
    cells = [cell for cell, value in held.items() if isinstance(cell, RegisterCell) and value.text == write.value.text]
    cells = [cell for cell in cells if cell not in write.origins] or cells  # not the copy that was made to be sent
    own = [cell for cell in cells if cell.lane == write.lane]
    if own:
        return f"{needs}, which it has itself, in {own[0].row}"
    lanes = sorted({cell.lane for cell in cells})
    if not lanes:
        others = [_place(cell, write.lane, held) for cell in write.origins if _is_foreign(cell, write.lane)]
        return f"lane {write.lane} takes {others[0]}" if others else needs
    rows = list(dict.fromkeys(cell.row for cell in cells))
    where = f", in {rows[0]}" if len(rows) == 1 else ""
    return f"{needs}: {_lanes(lanes)} it{where}"


def _is_foreign(cell: Cell, lane: int) -> bool:
    return isinstance(cell, RegisterCell) and cell.lane != lane


def _sent(write: Write, arrival: Step) -> str:
    row = next((cell.row for cell in write.origins if isinstance(cell, RegisterCell)), "")
    receivers = [other.lane for other in _own(arrival) if write.cell in other.origins]
    sends = f"lane {write.lane} sends {_text(write.value)}" + (f", its {row}" if row else "")
    if not receivers:
        return f"{sends}: no lane needs it"
    others = [lane for lane in receivers if lane != write.lane]
    if not others:
        return f"{sends}: it needs it itself"
    return f"{sends}: {_counted(others)} {'needs' if len(others) == 1 else 'need'} it"


def _place(cell: Cell, lane: int, held: Mapping[Cell, Value]) -> str:
    if isinstance(cell, MemoryCell):
        return element_name(cell)
    value = held.get(cell)
    owner = "" if cell.lane == lane else f" of lane {cell.lane}"
    return f"{cell.row}{owner}" + (f", which holds {_text(value)}" if value is not None else "")


def _lanes(lanes: Sequence[int]) -> str:
    return f"only {_counted(lanes)} has" if len(lanes) == 1 else f"{_counted(lanes)} have"


def _counted(lanes: Sequence[int]) -> str:
    if len(lanes) == 1:
        return f"lane {lanes[0]}"
    return "lanes " + " and ".join(_parts(lanes))


def _parts(lanes: Sequence[int]) -> Iterator[str]:
    if len(lanes) <= _MOST_LANES:
        yield ", ".join(map(str, lanes[:-1]))
        yield str(lanes[-1])
    else:
        yield ", ".join(map(str, lanes[:_MOST_LANES]))
        yield f"{len(lanes) - _MOST_LANES} more"


def _text(value: Value) -> str:
    return value.text if len(value.text) <= _LONGEST else f"{value.text[: _LONGEST - 1]}…"
