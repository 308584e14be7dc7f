"""A second-order IIR filter: each value depends on the two before it, and runs in parallel, as products of matrices."""

import numpy as np

import warploom as wl


def biquad(xs: list[float]):
    before = 0.0
    last = 0.0
    out = []
    for x in xs:
        now = x + 1.5 * last - 0.75 * before
        before = last
        last = now
        out.append(now)
    return out


if __name__ == "__main__":
    found = wl.lift(biquad)
    print(f"{found.status}, {found.verdict} over {found.domain}")
    print("  one piece:", ", ".join(found.fields))
    made = found.emit("numpy")
    module: dict = {}
    exec(made.source, module)
    xs = np.random.default_rng(0).normal(size=1000)
    print(f"{made.verdict}; 1000 values as the loop's:", np.allclose(module["biquad"](xs), biquad(xs.tolist())))
