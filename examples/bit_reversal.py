"""In-warp bit reversal: lane t gets the value of the lane whose five bits are t's in reverse (the first step of an FFT).

Reversing five bits swaps bit 4 with bit 0 and bit 3 with bit 1. Each swap is an exchange with the lane that differs in both
bits, by the lanes that have the two bits unequal; the masks and the conditions are left open.
"""

import numpy as np

import warploom as wl
from warploom import i32

n = wl.size("n")


def spec(x, y, n):
    for block in range(n):
        for t in range(32):
            y[32 * block + t] = x[32 * block + 16 * (t % 2) + 8 * (t // 2 % 2) + 4 * (t // 4 % 2) + 2 * (t // 8 % 2) + t // 16]


@wl.sketch(spec=spec, block=32, grid=n, complete_at={"n": 1})
def bit_reversal(x: wl.Global[i32, 32 * n], y: wl.Global[i32, 32 * n]):
    lane = wl.lane_id()
    value = x[wl.global_id()]
    other = wl.shfl_xor(value, wl.const(3, 5, 9, 10, 12, 17, 18, 20, 24, name="outer_mask"))
    value = other if wl.cond(lane // 16, lane % 2, name="outer") else value
    other = wl.shfl_xor(value, wl.const(3, 5, 9, 10, 12, 17, 18, 20, 24, name="inner_mask"))
    value = other if wl.cond(lane // 8 % 2, lane // 2 % 2, name="inner") else value
    y[wl.global_id()] = value


if __name__ == "__main__":
    done = wl.complete(bit_reversal)
    print(f"{done.status} and {done.lift}")
    for name, text in done.holes.items():
        print(f"  {name} = {text}")

    values = np.arange(32, dtype=np.int32)
    result = done.run({"x": values}, {"n": 1})
    print("0 .. 31 become", *result.arrays["y"])
