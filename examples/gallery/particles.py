"""Squared speeds of particles stored as structures of three words: a warp loads 96 words side by side, lanes exchange them.

Lane t needs words 3 t, 3 t + 1 and 3 t + 2. In each of three rounds it gives a word and asks for one; which and whom is open.
"""

import numpy as np
from shown import show

import warploom as wl
from warploom import f32

n = wl.size("n")


def spec(v, e, n):
    for p in range(32 * n):
        for k in range(3):
            e[p] += v[3 * p + k] * v[3 * p + k]


@wl.sketch(spec=spec, block=32, grid=n, complete_at={"n": 1})
def speeds(v: wl.Global[f32, 96 * n], e: wl.Global[f32, 32 * n]):
    lane = wl.lane_id()
    words = wl.register(f32, 3)
    wl.global_to_register(v, words, offset=96 * wl.block_id())
    total = wl.accumulator(f32, op="+", inner="*")
    for k in range(3):
        word = wl.shfl(words[wl.xform(k, 3, lane, name="asked_for")], wl.xform(lane, 32, k, name="asks"))
        total.add(word, word)
    e[wl.global_id()] = total.value()


if __name__ == "__main__":
    done = wl.complete(speeds)
    show(done)
    v = np.random.default_rng(0).random(192, np.float32)
    result = done.run({"v": v}, {"n": 2}).arrays["e"]
    print("64 particles as NumPy's:", np.allclose(result, (v.reshape(64, 3) ** 2).sum(1)))
