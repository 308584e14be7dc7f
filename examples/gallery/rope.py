"""Rotary embedding of 32 numbers a head: number t turns with number t + 16. One exchange; its lane and sign are left open."""

import numpy as np
from shown import show

import warploom as wl
from warploom import f32

n = wl.size("n")


def spec(x, cos, sin, y, n):
    for head in range(n):
        for t in range(16):
            y[32 * head + t] = x[32 * head + t] * cos[t] - x[32 * head + t + 16] * sin[t]
            y[32 * head + t + 16] = x[32 * head + t + 16] * cos[t] + x[32 * head + t] * sin[t]


@wl.sketch(spec=spec, block=32, grid=n, complete_at={"n": 1})
def rope(x: wl.Global[f32, 32 * n], cos: wl.Global[f32, 16], sin: wl.Global[f32, 16], y: wl.Global[f32, 32 * n]):
    lane = wl.lane_id()
    own = x[wl.global_id()]
    other = wl.shfl(own, wl.xform(lane, 32, 16, name="partner"))
    turned = other * sin[wl.xform(lane % 16, 16, 0, name="angle")]
    y[wl.global_id()] = own * cos[lane % 16] + (-turned if wl.cond(lane, 16, name="is_lower") else turned)


if __name__ == "__main__":
    done = wl.complete(rope)
    show(done, "rope")
    rng = np.random.default_rng(0)
    x, angle = rng.random(64, np.float32), rng.random(16, np.float32)
    a, b = x.reshape(2, 2, 16).transpose(1, 0, 2)
    c, s = np.cos(angle), np.sin(angle)
    y = done.run({"x": x, "cos": c, "sin": s}, {"n": 2}).arrays["y"]
    print("two heads as NumPy's:", np.allclose(y, np.stack([a * c - b * s, b * c + a * s], 1).ravel()))
