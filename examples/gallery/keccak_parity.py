"""Keccak over lanes: the step theta of one 5 x 5 state, each lane with one word. Column parities are exchanged and added.

The rotation of one parity by a bit is left out: the search takes long over a shift of a value whose source is still open.
"""

import numpy as np
from shown import show

import warploom as wl
from warploom import u32


def spec(a, b):
    for x in range(5):
        for y in range(5):
            b[x + 5 * y] = a[x + 5 * y]
            for k in range(5):
                b[x + 5 * y] = b[x + 5 * y] ^ a[(x + 4) % 5 + 5 * k] ^ a[(x + 1) % 5 + 5 * k]


@wl.sketch(spec=spec, block=32)
def theta(a: wl.Global[u32, 25], b: wl.Global[u32, 25]):
    lane = wl.lane_id()
    word = wl.register(u32, 1)
    wl.global_to_register(a, word)
    parity = wl.accumulator(u32, op="^")
    for k in range(5):
        parity.add(wl.shfl(word[0], wl.xform(lane % 25, 25, 5 * k, name="down")))
    before = wl.shfl(parity.value(), wl.xform(lane % 5, 5, 0, name="before"))
    after = wl.shfl(parity.value(), wl.xform(lane % 5, 5, 0, name="after"))
    if lane < 25:
        b[lane] = word[0] ^ before ^ after


if __name__ == "__main__":
    done = wl.complete(theta)
    show(done, "keccak_parity")
    a = np.random.default_rng(0).integers(0, 2**32, 25, np.uint32)
    parity = np.bitwise_xor.reduce(a.reshape(5, 5), axis=0)
    wanted = a.reshape(5, 5) ^ np.roll(parity, 1) ^ np.roll(parity, -1)
    print("as NumPy's:", np.array_equal(done.run({"a": a}).arrays["b"], wanted.ravel()))
