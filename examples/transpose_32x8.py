"""32 rows of 8 words, one row per lane, to 8 rows of 32 words: the store side of an array of structures, in registers.

Which of two ways of numbering the rotations is right is left open beside the index maps.
"""

import numpy as np

import warploom as wl
from warploom import u32


def spec(x, y):
    for i in range(32):
        for j in range(8):
            y[j, i] = x[i, j]


@wl.sketch(spec=spec, block=32)
def transpose_32x8(x: wl.Global[u32, 32, 8], y: wl.Global[u32, 8, 32]):
    lane = wl.lane_id()
    loaded, turned, moved = wl.register(u32, 8), wl.register(u32, 8), wl.register(u32, 8)
    for r in range(8):
        loaded[r] = x[4 * r + lane // 8, lane % 8]
    for r in range(8):
        turned[r] = loaded[wl.choose((r + lane) % 8, (r - lane) % 8, (r + lane // 4) % 8, name="turn")]
    for r in range(8):
        moved[r] = wl.shfl(turned[r], wl.xform(lane, 32, r, name="row"))
    for r in range(8):
        y[r, lane] = moved[wl.xform(r, 8, lane, name="column")]


if __name__ == "__main__":
    done = wl.complete(transpose_32x8)
    print(f"{done.status} and {done.verdict} for {done.domain}")
    for name, text in done.holes.items():
        print(f"  {name} = {text}")

    x = np.arange(256, dtype=np.uint32).reshape(32, 8)
    result = done.run({"x": x})
    print("as NumPy's transpose:", np.array_equal(result.arrays["y"], x.T))
