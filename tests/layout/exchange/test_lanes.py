"""Tables by thread as expressions: each has the values of its table, whatever its form."""

import numpy as np
import pytest

from warploom.layout import expressions
from warploom.layout.exchange.lanes import Lanes
from warploom.layout.exchange.program import Flag, Index, Operation

LANE = np.arange(32)


def values(text: str, operations: list[Operation], threads: int) -> np.ndarray:
    known = {"lane": np.arange(threads)}

    def value(expression: str) -> np.ndarray:
        return np.broadcast_to(
            expressions.evaluate(expressions.parse(expression, expressions.names_in(expression)), known), threads
        )

    for operation in operations:
        match operation:
            case Index(name, expression):
                known[name] = value(expression)
            case Flag(name, expression):
                known[name] = (value(expression) != 0).astype(np.int64)
            case _:
                raise AssertionError(operation)
    return value(text)


TABLES = {
    "constant": LANE * 0 + 5, "line": LANE * 7 + 3, "xor": LANE ^ 21, "bits": (LANE >> 3) | (LANE & 7) << 2,
    "remainder": LANE // 2 % 3,
    "line and xor": LANE * 12 ^ LANE >> 3, "halves": LANE // 16 + (LANE * 5 + 4) % 16 * 2, "falling": 62 - LANE * 2,
    "any": np.random.default_rng(3).permutation(32), "far": np.random.default_rng(4).integers(0, 1024, 32),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLES)
def test_indices(name: str) -> None:
    operations: list[Operation] = []
    lanes = Lanes(32, operations)
    for table in (TABLES[name], TABLES[name] + 4, TABLES[name] ^ 8):
        text = lanes.index(table)
        assert (values(text, operations, 32) == table).all()
    text = lanes.index((TABLES[name] + 3) % 32, 32)
    assert (values(text, operations, 32) % 32 == (TABLES[name] + 3) % 32).all()
    cares = LANE % 3 > 0
    other = np.where(cares, TABLES[name], 777)
    assert (values(lanes.index(other, 0, cares), operations, 32) == other)[cares].all()


@pytest.mark.parametrize("threads", [4, 32, 128])
def test_flags_and_selectors(threads: int) -> None:
    random, operations = np.random.default_rng(5), list[Operation]()
    lanes, thread = Lanes(threads, operations), np.arange(threads)
    masks = [thread == 1, thread < 3, thread % 4 < 2, (thread ^ thread >> 1) % 2 == 1, (thread ^ thread >> 1) % 2 == 0]
    for holds in [*masks, *(random.random(threads) < 0.5 for _ in range(6))]:
        if holds.all() or not holds.any():
            continue
        found = lanes.flag(holds)
        assert ((values(found.lstrip("!"), operations, threads) != 0) == (holds ^ found.startswith("!"))).all()
        table = np.where(holds, 12816, random.integers(0, 2, threads) + 30258)
        assert (values(lanes.selector(table), operations, threads) == table).all()
