"""Bitonic sort: lanes exchange values and keep the smaller or the larger one. Whom to ask and which to keep is left open.

The spec is bubble sort; minima and maxima of both are brought to one normal form. Three exchanges sort four values, and the masks
and conditions of the textbook are found.
"""

import itertools

import numpy as np
from shown import show

import warploom as wl
from warploom import i32

LANES = 4


def spec(x, y):
    for i in range(LANES):
        y[i] = x[i]
    for turn in range(LANES - 1):
        for i in range(LANES - 1 - turn):
            low = min(y[i], y[i + 1])
            y[i + 1] = max(y[i], y[i + 1])
            y[i] = low


@wl.sketch(spec=spec, block=LANES, warp_size=LANES)
def bitonic(x: wl.Global[i32, LANES], y: wl.Global[i32, LANES]):
    lane = wl.lane_id()
    v = x[lane]
    other = wl.shfl_xor(v, wl.const(1, 2, 3, name="mask1"), LANES)
    v = min(v, other) if wl.cond(lane // 2 % 2, lane % 2, name="keeps_low1") else max(v, other)
    other = wl.shfl_xor(v, wl.const(1, 2, 3, name="mask2"), LANES)
    v = min(v, other) if wl.cond(lane // 2 % 2, lane % 2, name="keeps_low2") else max(v, other)
    other = wl.shfl_xor(v, wl.const(1, 2, 3, name="mask3"), LANES)
    v = min(v, other) if wl.cond(lane // 2 % 2, lane % 2, name="keeps_low3") else max(v, other)
    y[lane] = v


if __name__ == "__main__":
    done = wl.complete(bitonic)
    show(done, "bitonic_sort")
    orders = [np.array(order, np.int32) for order in itertools.permutations((1, 2, 3, 4))]
    print("all orders of four values sorted:", all(done.run({"x": o}).arrays["y"].tolist() == [1, 2, 3, 4] for o in orders))
