"""A 3-D stencil of 7 points, for every size: neighbours along x come from other lanes, those along y and z from memory."""

import numpy as np
from shown import show

import warploom as wl
from warploom import f32

nx, ny, nz = wl.size("nx"), wl.size("ny"), wl.size("nz")


def spec(u, v, nx, ny, nz):
    for z in range(nz):
        for y in range(ny):
            for x in range(nx):
                for k in range(3):
                    v[z, y, x] += u[z + 1, y + 1, x + k]
                for k in range(2):
                    v[z, y, x] += u[z + 2 * k, y + 1, x + 1] + u[z + 1, y + 2 * k, x + 1]


@wl.sketch(spec=spec, block=32, grid=(wl.ceil_div(nx, 32), ny, nz), complete_at={"nx": 32, "ny": 1, "nz": 1})
def stencil(u: wl.Global[f32, nz + 2, ny + 2, nx + 2], v: wl.Global[f32, nz, ny, nx]):
    lane = wl.lane_id()
    x, y, z = wl.global_id("x"), wl.block_id("y"), wl.block_id("z")
    row = wl.register(f32, 2)
    row[0] = u[z + 1, y + 1, x] if x < nx + 2 else 0.0
    row[1] = u[z + 1, y + 1, x + 32] if x + 32 < nx + 2 else 0.0
    total = wl.accumulator(f32, op="+")
    for k in range(3):
        total.add(wl.shfl(row[wl.part(2, lane, k, name="which")], wl.xform(lane, 32, k, name="source")))
    if x < nx:
        for k in range(2):
            total.add(u[z + 2 * k, y + 1, x + 1])
            total.add(u[z + 1, y + 2 * k, x + 1])
        v[z, y, x] = total.value()


if __name__ == "__main__":
    done = wl.complete(stencil)
    show(done, "stencil_3d")
    u = np.random.default_rng(0).random((4, 5, 42), np.float32)
    inner = [(1, 1, 0), (1, 1, 1), (1, 1, 2), (0, 1, 1), (2, 1, 1), (1, 0, 1), (1, 2, 1)]
    wanted = sum(u[z : z + 2, y : y + 3, x : x + 40] for z, y, x in inner)
    result = done.run({"u": u}, {"nx": 40, "ny": 3, "nz": 2})
    print("2 x 3 x 40 points as NumPy's:", np.allclose(result.arrays["v"], wanted))
