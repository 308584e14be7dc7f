"""Walsh-Hadamard transform of 8 values, the butterflies of an FFT without twiddles: masks and signs are left open."""

import numpy as np
from shown import show

import warploom as wl
from warploom import i32

LANES = 8


def spec(x, y):
    for t in range(LANES):
        for k in range(LANES):
            if ((t & k) % 2 + (t & k) // 2 % 2 + (t & k) // 4) % 2 == 0:
                y[t] += x[k]
            else:
                y[t] += -x[k]


@wl.sketch(spec=spec, block=LANES, warp_size=LANES)
def butterflies(x: wl.Global[i32, LANES], y: wl.Global[i32, LANES]):
    lane = wl.lane_id()
    v = x[lane]
    for step in range(3):
        other = wl.shfl_xor(v, wl.power(LANES, step, name="distance"), LANES)
        v = other - v if wl.cond((lane >> step) % 2, 0, name="is_upper") else other + v
    y[lane] = v


if __name__ == "__main__":
    done = wl.complete(butterflies)
    show(done, "walsh_hadamard")
    print("1, 2, .. 8 become", *done.run({"x": np.arange(1, 9, dtype=np.int32)}).arrays["y"])
