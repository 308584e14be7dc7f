"""Deliberately wrong: the tile is read without a barrier after other threads wrote it. Completing it reports the race."""

import warploom as wl
from warploom import f32


def spec(x, y):
    for i in range(64):
        y[i] = x[63 - i]


@wl.sketch(spec=spec, block=64)
def reverse(x: wl.Global[f32, 64], y: wl.Global[f32, 64]):
    t = wl.thread_id()
    tile = wl.shared(f32, 64)
    tile[t] = x[t]
    y[t] = tile[wl.xform(t, 64, 0, name="from")]


if __name__ == "__main__":
    done = wl.complete(reverse)
    print(f"{done.status}: the completed kernel is {done.verdict}")
    for diagnostic in done.diagnostics:
        print(diagnostic.render())
