"""Product of two polynomials modulo x^8 + 1, as in lattice cryptography: each lane holds one coefficient of both.

Which coefficient of b a lane needs in step i, and where the product changes its sign, is left open.
"""

import numpy as np
from shown import show

import warploom as wl
from warploom import i32

N = 8


def spec(a, b, c):
    for i in range(N):
        for j in range(N):
            if i + j < N:
                c[i + j] += a[i] * b[j]
            else:
                c[i + j - N] += -(a[i] * b[j])


@wl.sketch(spec=spec, block=N, warp_size=N)
def product(a: wl.Global[i32, N], b: wl.Global[i32, N], c: wl.Global[i32, N]):
    lane = wl.lane_id()
    own = b[lane]
    total = wl.accumulator(i32, op="+", inner="*")
    for i in range(N):
        other = wl.shfl(own, wl.xform(lane, N, i, name="coefficient"), N)
        total.add(a[i], -other if wl.cond(lane, i, name="is_past_the_end") else other)
    c[lane] = total.value()


if __name__ == "__main__":
    done = wl.complete(product)
    show(done)
    a, b = np.random.default_rng(0).integers(-9, 9, (2, N), np.int32)
    whole = np.append(np.convolve(a, b), 0)
    print("as NumPy's:", np.array_equal(done.run({"a": a, "b": b}).arrays["c"], whole[:N] - whole[N:]))
