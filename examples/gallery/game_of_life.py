"""Game of life: twice the living neighbours of each cell, and the cell itself, on a board 32 cells wide whose sides are joined.

Lane t has column t of three rows; the neighbours at its sides come from other lanes. Which lane is asked for which side is left
open. Of the sum, 5, 6 and 7 are the cells that live; that rule is the caller's, since the search takes long over a maximum of
sums that are still open.
"""

import numpy as np
from shown import show

import warploom as wl
from warploom import i32

h = wl.size("h")  # rows; the row above and the one below the board are given, too


def spec(x, y, h):
    for r in range(h):
        for c in range(32):
            y[r, c] = x[r + 1, c]
            for i in range(3):
                for j in range(2):
                    y[r, c] += 2 * x[r + i, (c + 31 + 2 * j) % 32]
            for i in range(2):
                y[r, c] += 2 * x[r + 2 * i, c]


@wl.sketch(spec=spec, block=32, grid=h, complete_at={"h": 1})
def life(x: wl.Global[i32, h + 2, 32], y: wl.Global[i32, h, 32]):
    lane = wl.lane_id()
    r = wl.block_id()
    rows = wl.register(i32, 3)
    for i in range(3):
        rows[i] = x[r + i, lane]
    total = wl.accumulator(i32, op="+", inner="*")
    for i in range(3):
        for j in range(2):
            total.add(2, wl.shfl(rows[i], wl.xform(lane, 32, j, name="side")))
    for i in range(2):
        total.add(2, x[r + 2 * i, lane])
    total.add(1, x[r + 1, lane])
    y[r, lane] = total.value()


if __name__ == "__main__":
    done = wl.complete(life)
    show(done, "game_of_life")
    board = np.zeros((34, 32), np.int32)
    board[[2, 3, 4, 4, 4], [2, 3, 1, 2, 3]] = 1  # a glider
    for _ in range(4):
        board[1:-1] = np.isin(done.run({"x": board}, {"h": 32}).arrays["y"], (5, 6, 7))
    print("after four steps the glider is one cell further:", board.nonzero()[0].tolist(), board.nonzero()[1].tolist())
