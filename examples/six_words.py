"""Structures of six words, loaded coalesced, each to be held by one lane and stored word by word.

Six has the factor 2 in common with the 32 lanes, so no three swizzles of the paper's template do it. Compositions of the
primitives that the paper grows its grammar by do: the step after the shuffle is found among all compositions of up to two
primitives, and leaves one table to each of the others, which are taken apart into up to five.
"""

import numpy as np

import warploom as wl
from warploom import i32

WORDS = 6
tiles = wl.size("tiles")


def spec(src, dst, tiles):
    for t in range(tiles):
        for i in range(32):
            for j in range(WORDS):
                dst[32 * WORDS * t + 32 * j + i] = src[32 * WORDS * t + WORDS * i + j]


@wl.sketch(spec=spec, block=32, grid=tiles, complete_at={"tiles": 1})
def store_six_words(src: wl.Global[i32, 32 * WORDS * tiles], dst: wl.Global[i32, 32 * WORDS * tiles]):
    lane = wl.lane_id()
    first = 32 * WORDS * wl.block_id()
    loaded = wl.register(i32, WORDS)
    columns = wl.register(i32, WORDS)
    rows = wl.register(i32, WORDS)
    out = wl.register(i32, WORDS)
    wl.global_to_register(src, loaded, offset=first)
    for i in range(WORDS):
        columns[i] = loaded[wl.compose(i, WORDS, lane, grammar="long", name="column")]
    for i in range(WORDS):
        rows[i] = wl.shfl(columns[i], wl.compose(lane, 32, i, grammar="long", name="row"))
    for i in range(WORDS):
        out[i] = rows[wl.compose(i, WORDS, lane, name="column_after")]
    wl.register_to_global(out, dst, offset=first)


if __name__ == "__main__":
    done = wl.complete(store_six_words)
    print(f"{done.status} and {done.lift}")
    for name, text in done.holes.items():
        print(f"  {name} = {text}")

    words = np.arange(32 * WORDS, dtype=np.int32)
    result = done.run({"src": words}, {"tiles": 1})
    print("first words of the structures:", *result.arrays["dst"][:32])
