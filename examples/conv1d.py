"""1-D convolution by a warp that keeps its inputs in registers: Listing 3 of the Swizzle Inventor paper, with its three holes.

Lane t loads x[first + t] and x[first + t + 32]. In step k it needs the input k places further on: which of its two inputs must
each lane send, from which lane must it receive, and which weight belongs to what it gets?
"""

import numpy as np

import warploom as wl
from warploom import f32

K = 3
n = wl.size("n")


def spec(x, w, y, n):
    for i in range(n):
        for k in range(K):
            y[i] += w[k] * x[i + k]


@wl.sketch(spec=spec, block=128, grid=wl.ceil_div(n, 128), complete_at={"n": 128})
def conv1d(x: wl.Global[f32, n + K - 1], w: wl.Constant[f32, K], y: wl.Global[f32, n]):
    lane = wl.lane_id()
    first = wl.global_id() - lane  # the warp's first output
    inp = wl.register(f32, 2)
    wl.global_to_register(x, inp, offset=first, rounds=2)
    out = wl.accumulator(f32, op="+", inner="*")
    for k in range(K):
        to_send = inp[wl.part(2, lane, k, name="swizzle1")]
        got = wl.shfl(to_send, wl.xform(lane, 32, k, name="swizzle2"))
        out.add(w[wl.xform(k, K, lane, name="swizzle3")], got)
    if wl.global_id() < n:
        y[wl.global_id()] = out.value()


if __name__ == "__main__":
    done = wl.complete(conv1d)
    print(f"{done.status} and {done.lift}")
    for name, text in done.holes.items():
        print(f"  {name} = {text}")

    print(done.cuda.split("\n#ifndef")[0])

    random = np.random.default_rng(0)
    x, w = random.uniform(-1, 1, 302).astype(np.float32), np.array([0.25, 0.5, 0.25], np.float32)
    result = done.run({"x": x, "w": w}, {"n": 300})
    print("300 outputs as NumPy's:", np.allclose(result.arrays["y"], np.correlate(x, w, mode="valid"), atol=1e-6))
