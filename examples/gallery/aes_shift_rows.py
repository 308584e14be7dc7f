"""ShiftRows of AES over lanes: lane r + 4 c has the byte of row r and column c, and row r turns by r columns."""

import numpy as np
from shown import show

import warploom as wl
from warploom import u32

n = wl.size("n")


def spec(a, b, n):
    for block in range(n):
        for r in range(4):
            for c in range(4):
                b[16 * block + r + 4 * c] = a[16 * block + r + 4 * ((c + r) % 4)]


@wl.sketch(spec=spec, block=16, grid=n, warp_size=16, complete_at={"n": 1})
def shift_rows(a: wl.Global[u32, 16 * n], b: wl.Global[u32, 16 * n]):
    lane = wl.lane_id()
    b[wl.global_id()] = wl.shfl(a[wl.global_id()], wl.xform(lane, 16, lane % 4, name="source"), 16)


if __name__ == "__main__":
    done = wl.complete(shift_rows)
    show(done, "aes_shift_rows")
    print("0 .. 15 become", *done.run({"a": np.arange(16, dtype=np.uint32)}, {"n": 1}).arrays["b"])
