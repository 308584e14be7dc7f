"""The convolution of conv1d.py on a warp of 8 lanes: small enough for a picture (docs/conv1d.svg)."""

import warploom as wl
from warploom import f32

K = 3
LANES = 8
n = wl.size("n")


def spec(x, w, y, n):
    for i in range(n):
        for k in range(K):
            y[i] += w[k] * x[i + k]


@wl.sketch(spec=spec, block=LANES, grid=wl.ceil_div(n, LANES), warp_size=LANES, complete_at={"n": LANES})
def conv1d(x: wl.Global[f32, n + K - 1], w: wl.Constant[f32, K], y: wl.Global[f32, n]):
    lane = wl.lane_id()
    first = wl.global_id() - lane
    inp = wl.register(f32, 2)
    wl.global_to_register(x, inp, offset=first, rounds=2)
    out = wl.accumulator(f32, op="+", inner="*")
    for k in range(K):
        sent = inp[wl.part(2, lane, k, name="swizzle1")]
        got = wl.shfl(sent, wl.xform(lane, LANES, k, name="swizzle2"), LANES)
        out.add(w[wl.xform(k, K, lane, name="swizzle3")], got)
    if wl.global_id() < n:
        y[wl.global_id()] = out.value()


if __name__ == "__main__":
    done = wl.complete(conv1d)
    print(f"{done.status} and {done.lift}")
    for name, text in done.holes.items():
        print(f"  {name} = {text}")
