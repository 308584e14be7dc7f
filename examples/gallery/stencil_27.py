"""A 3-D stencil of 27 points, for every size: of each of nine rows a warp loads 34 points once, and lanes pass them on."""

import numpy as np
from shown import show

import warploom as wl
from warploom import f32

nx, ny, nz = wl.size("nx"), wl.size("ny"), wl.size("nz")


def spec(u, w, v, nx, ny, nz):
    for z in range(nz):
        for y in range(ny):
            for x in range(nx):
                for row in range(9):
                    for k in range(3):
                        v[z, y, x] += w[row, k] * u[z + row // 3, y + row % 3, x + k]


@wl.sketch(spec=spec, block=32, grid=(wl.ceil_div(nx, 32), ny, nz), complete_at={"nx": 32, "ny": 1, "nz": 1})
def stencil(u: wl.Global[f32, nz + 2, ny + 2, nx + 2], w: wl.Constant[f32, 9, 3], v: wl.Global[f32, nz, ny, nx]):
    lane = wl.lane_id()
    x, y, z = wl.global_id("x"), wl.block_id("y"), wl.block_id("z")
    total = wl.accumulator(f32, op="+", inner="*")
    for row in range(9):
        points = wl.register(f32, 2)
        points[0] = u[z + row // 3, y + row % 3, x] if x < nx + 2 else 0.0
        points[1] = u[z + row // 3, y + row % 3, x + 32] if x + 32 < nx + 2 else 0.0
        for k in range(3):
            sent = points[wl.part(2, lane, k, name="which")]
            total.add(w[row, wl.xform(k, 3, lane, name="weight")], wl.shfl(sent, wl.xform(lane, 32, k, name="source")))
    if x < nx:
        v[z, y, x] = total.value()


if __name__ == "__main__":
    done = wl.complete(stencil)
    show(done)
    rng = np.random.default_rng(0)
    u, w = rng.random((4, 5, 42), np.float32), rng.random((9, 3), np.float32)
    parts = [w[r, k] * u[r // 3 : r // 3 + 2, r % 3 : r % 3 + 3, k : k + 40] for r in range(9) for k in range(3)]
    result = done.run({"u": u, "w": w}, {"nx": 40, "ny": 3, "nz": 2})
    print("2 x 3 x 40 points as NumPy's:", np.allclose(result.arrays["v"], sum(parts)))
