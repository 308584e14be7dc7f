"""A double buffer: sums of three neighbours, tile by tile. While one tile is used, the next one is copied asynchronously.

A thread sees its own copies after the wait, the others' after the barrier behind it; and a buffer is free for the next copies
after the barrier behind its last use. Without one of these lines the completion is refused.
"""

import warploom as wl
from warploom import f32

n = wl.size("n")  # rows
TILES = 3


def sums(x, y, n):
    for row in range(n):
        for i in range(16 * TILES):
            y[row, i] = x[row, i] + x[row, i + 1] + x[row, i + 2]


@wl.device
def fetch(x, tile, row, step):
    t = wl.thread_id()
    wl.memcpy_async(tile[step % 2, t], x[row, 16 * step + t])
    if t < 2:
        wl.memcpy_async(tile[step % 2, 16 + t], x[row, 16 * step + 16 + t])
    wl.pipeline_commit()


@wl.sketch(spec=sums, block=16, grid=n, complete_at={"n": 2})
def neighbours(x: wl.Global[f32, n, 16 * TILES + 2], y: wl.Global[f32, n, 16 * TILES]):
    t, row = wl.thread_id(), wl.block_id()
    tile = wl.shared(f32, 2, 18)
    fetch(x, tile, row, 0)
    for step in range(TILES):
        if step + 1 < TILES:
            fetch(x, tile, row, step + 1)
            wl.pipeline_wait_prior(1)  # the next tile's copies may go on
        else:
            wl.pipeline_wait_prior(0)
        wl.sync()
        total = wl.accumulator(f32)
        for k in range(3):
            total.add(tile[wl.choose(step % 2, 1 - step % 2, name="buffer"), wl.choose(t - k, t + k, name="at")])
        y[row, 16 * step + t] = total.value()
        wl.sync()


if __name__ == "__main__":
    done = wl.complete(neighbours)
    print(done.status, done.verdict, done.holes)
    print(done.domain)
