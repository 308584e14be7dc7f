"""1-D max-pooling over windows of 8: max is idempotent, so three shuffles suffice where a sum would need seven."""

import numpy as np

import warploom as wl
from warploom import i32

n = wl.size("n")


def spec(x, y, n):
    for i in range(n):
        y[i] = x[i]
        for k in range(1, 8):
            y[i] = max(y[i], x[i + k])


@wl.sketch(spec=spec, block=32, grid=wl.ceil_div(n, 24), complete_at={"n": 24})
def max_pool(x: wl.Global[i32, n + 7], y: wl.Global[i32, n]):
    lane = wl.lane_id()
    first = 24 * wl.block_id()  # 32 inputs give 24 full windows
    window = wl.register(i32, 1)
    wl.global_to_register(x, window, offset=first)
    best = window[0]
    best = max(best, wl.shfl_down(best, wl.const(1, 2, 3, 4, name="step1")))
    best = max(best, wl.shfl_down(best, wl.const(1, 2, 3, 4, name="step2")))
    best = max(best, wl.shfl_down(best, wl.const(1, 2, 3, 4, name="step3")))
    if lane < 24 and first + lane < n:
        y[first + lane] = best


if __name__ == "__main__":
    done = wl.complete(max_pool)
    print(f"{done.status} and {done.lift}")
    for name, text in done.holes.items():
        print(f"  {name} = {text}")

    x = np.random.default_rng(0).integers(-1000, 1000, 57, dtype=np.int32)
    result = done.run({"x": x}, {"n": 50})
    expected = np.lib.stride_tricks.sliding_window_view(x, 8).max(axis=1)
    print("50 outputs as NumPy's:", np.array_equal(result.arrays["y"], expected))
