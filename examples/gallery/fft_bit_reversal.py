"""Bit reversal, the first step of an FFT: lane t of 8 gets the value of the lane whose three bits are t's in reverse.

One exchange does it, of the lanes whose outer bits differ; the mask and the condition are left open. Four exchanges of 32 lanes:
examples/bit_reversal.py.
"""

import numpy as np
from shown import show

import warploom as wl
from warploom import f32

LANES = 8
n = wl.size("n")


def spec(x, y, n):
    for block in range(n):
        for t in range(LANES):
            y[LANES * block + t] = x[LANES * block + 4 * (t % 2) + 2 * (t // 2 % 2) + t // 4]


@wl.sketch(spec=spec, block=LANES, grid=n, warp_size=LANES, complete_at={"n": 1})
def reversal(x: wl.Global[f32, LANES * n], y: wl.Global[f32, LANES * n]):
    lane = wl.lane_id()
    value = x[wl.global_id()]
    other = wl.shfl_xor(value, wl.const(1, 2, 3, 4, 5, 6, 7, name="mask"), LANES)
    y[wl.global_id()] = other if wl.cond(lane // 4, lane % 2, name="swaps") else value


if __name__ == "__main__":
    done = wl.complete(reversal)
    show(done, "fft_bit_reversal")
    result = done.run({"x": np.arange(16, dtype=np.float32)}, {"n": 2})
    print("0 .. 15 become", *result.arrays["y"].astype(int))
