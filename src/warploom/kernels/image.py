"""2-D stencil and convolution of K x K: a warp of 8 x 4 lanes keeps a tile with its halo in registers.

Source: Swizzle Inventor, section 7.1; one partition and one transformation hole per axis.
"""

# ruff: noqa: N806  (capitals: compile-time constants of a sketch)
# pyright: basic, reportInvalidTypeForm=false, reportIndexIssue=false

from warploom.core import f32
from warploom.kernels import language as wl

WARP_ROWS, WARP_COLS = 8, 4


def stencil2d_spec(k_size: int):
    """y[i, j] = mean of the K x K inputs from x[i, j]; x is K - 1 longer than y in both directions."""
    K = k_size

    def spec(x, y, h, w):
        for i in range(h):
            for j in range(w):
                for a in range(K):
                    for b in range(K):
                        y[i, j] += x[i + a, j + b]
                y[i, j] = y[i, j] / (K * K)

    return spec


def stencil2d(k_size: int, warps: int = 4) -> wl.Sketch:
    """Box mean with holes; a warp computes 8 x 4 outputs, a block `warps` such tiles side by side."""
    K, WARPS = k_size, warps
    TY, TX = 1 + -(-(K - 1) // WARP_ROWS), 1 + -(-(K - 1) // WARP_COLS)
    h, w = wl.size("h"), wl.size("w")

    @wl.sketch(
        spec=stencil2d_spec(K),
        block=32 * WARPS,
        grid=(wl.ceil_div(w, 4 * WARPS), wl.ceil_div(h, 8)),
        complete_at={"h": 8, "w": 4 * WARPS},
        name=f"stencil2d_{K}",
    )
    def kernel(x: wl.Global[f32, h + K - 1, w + K - 1], y: wl.Global[f32, h, w]):
        row, col = wl.lane_grid(8, 4)
        top = 8 * wl.block_id("y")
        left = 4 * (WARPS * wl.block_id("x") + wl.warp_id())
        tile = wl.register(f32, TY, TX)
        needed = (min(top + 8, h) + K - 1, min(left + 4, w) + K - 1)
        wl.global_to_register(x, tile, offset=(top, left), rounds=(TY, TX), warp_shape=(8, 4), size=needed)
        out = wl.accumulator(f32, op="+", finalize=lambda total: total / (K * K))
        for ky in range(K):
            for kx in range(K):
                sent = tile[wl.part(TY, row, ky, name="tile_row"), wl.part(TX, col, kx, name="tile_col")]
                sender = 4 * wl.xform(row, 8, ky, name="lane_row") + wl.xform(col, 4, kx, name="lane_col")
                out.add(wl.shfl(sent, sender))
        if top + row < h and left + col < w:
            y[top + row, left + col] = out.value()

    return kernel


def stencil2d_strip(k_size: int, outputs: int = 8) -> wl.Sketch:
    """Box mean with holes; a warp is one row of 32 lanes and each lane computes `outputs` outputs below one another.

    A shuffled input serves every output of its column: K * (outputs + K - 1) shuffles per lane instead of K * K * outputs.
    """
    K, OUT = k_size, outputs
    COLS = 1 + -(-(K - 1) // 32)
    h, w = wl.size("h"), wl.size("w")

    @wl.sketch(
        spec=stencil2d_spec(K),
        block=128,
        grid=(wl.ceil_div(w, 32), wl.ceil_div(h, 4 * OUT)),
        complete_at={"h": 4 * OUT, "w": 32},
        name=f"stencil2d_{K}_strip",
    )
    def kernel(x: wl.Global[f32, h + K - 1, w + K - 1], y: wl.Global[f32, h, w]):
        lane = wl.lane_id()
        top = OUT * (4 * wl.block_id("y") + wl.warp_id())
        left = 32 * wl.block_id("x")
        tile = wl.register(f32, OUT + K - 1, COLS)
        needed = (h + K - 1, min(left + 32, w) + K - 1)
        wl.global_to_register(x, tile, offset=(top, left), rounds=(OUT + K - 1, COLS), warp_shape=(1, 32), size=needed)
        out = wl.accumulator(f32, op="+", finalize=lambda total: total / (K * K), shape=(OUT,))
        for r in range(OUT + K - 1):
            for kx in range(K):
                got = wl.shfl(tile[r, wl.part(COLS, lane, kx, name="tile_col")], wl.xform(lane, 32, kx, name="lane"))
                for ky in range(max(0, r - OUT + 1), min(K, r + 1)):
                    out[r - ky].add(got)
        for o in range(OUT):
            if top + o < h and left + lane < w:
                y[top + o, left + lane] = out[o].value()

    return kernel


def stencil2d_shared(k_size: int) -> wl.Sketch:
    """Box mean through a tile in shared memory, 8 x 16 outputs per block, one per thread."""
    K = k_size
    h, w = wl.size("h"), wl.size("w")

    @wl.sketch(
        spec=stencil2d_spec(K),
        block=(16, 8),
        grid=(wl.ceil_div(w, 16), wl.ceil_div(h, 8)),
        complete_at={"h": 8, "w": 16},
        name=f"stencil2d_{K}_shared",
    )
    def kernel(x: wl.Global[f32, h + K - 1, w + K - 1], y: wl.Global[f32, h, w]):
        top, left = 8 * wl.block_id("y"), 16 * wl.block_id("x")
        row, col = wl.thread_id("y"), wl.thread_id("x")
        tile = wl.shared(f32, 8 + K - 1, 16 + K - 1)
        wl.global_to_shared(x, tile, offset=(top, left))
        wl.sync()
        out = wl.accumulator(f32, op="+", finalize=lambda total: total / (K * K))
        for ky in range(K):
            for kx in range(K):
                out.add(tile[row + ky, col + kx])
        if top + row < h and left + col < w:
            y[top + row, left + col] = out.value()

    return kernel


def conv2d_spec(k_size: int):
    """y[i, j] = sum of f[a, b] * x[i+a, j+b], a, b < K; x is K - 1 longer than y in both directions."""
    K = k_size

    def spec(x, f, y, h, w):
        for i in range(h):
            for j in range(w):
                for a in range(K):
                    for b in range(K):
                        y[i, j] += f[a, b] * x[i + a, j + b]

    return spec


def conv2d(k_size: int, warps: int = 4) -> wl.Sketch:
    """Convolution with holes; a warp computes 8 x 4 outputs, a block `warps` such tiles side by side."""
    K, WARPS = k_size, warps
    TY, TX = 1 + -(-(K - 1) // WARP_ROWS), 1 + -(-(K - 1) // WARP_COLS)
    h, w = wl.size("h"), wl.size("w")

    @wl.sketch(
        spec=conv2d_spec(K),
        block=32 * WARPS,
        grid=(wl.ceil_div(w, 4 * WARPS), wl.ceil_div(h, 8)),
        complete_at={"h": 8, "w": 4 * WARPS},
        name=f"conv2d_{K}",
    )
    def kernel(x: wl.Global[f32, h + K - 1, w + K - 1], f: wl.Constant[f32, K, K], y: wl.Global[f32, h, w]):
        row, col = wl.lane_grid(8, 4)
        top = 8 * wl.block_id("y")
        left = 4 * (WARPS * wl.block_id("x") + wl.warp_id())
        tile = wl.register(f32, TY, TX)
        needed = (min(top + 8, h) + K - 1, min(left + 4, w) + K - 1)
        wl.global_to_register(x, tile, offset=(top, left), rounds=(TY, TX), warp_shape=(8, 4), size=needed)
        out = wl.accumulator(f32, op="+", inner="*")
        for ky in range(K):
            for kx in range(K):
                sent = tile[wl.part(TY, row, ky, name="tile_row"), wl.part(TX, col, kx, name="tile_col")]
                sender = 4 * wl.xform(row, 8, ky, name="lane_row") + wl.xform(col, 4, kx, name="lane_col")
                out.add(f[ky, kx], wl.shfl(sent, sender))
        if top + row < h and left + col < w:
            y[top + row, left + col] = out.value()

    return kernel


def conv2d_strip(k_size: int, outputs: int = 8) -> wl.Sketch:
    """Convolution with holes; a warp is one row of 32 lanes and each lane computes `outputs` outputs below one another.

    A shuffled input serves every output of its column: K * (outputs + K - 1) shuffles per lane instead of K * K * outputs.
    """
    K, OUT = k_size, outputs
    COLS = 1 + -(-(K - 1) // 32)
    h, w = wl.size("h"), wl.size("w")

    @wl.sketch(
        spec=conv2d_spec(K),
        block=128,
        grid=(wl.ceil_div(w, 32), wl.ceil_div(h, 4 * OUT)),
        complete_at={"h": 4 * OUT, "w": 32},
        name=f"conv2d_{K}_strip",
    )
    def kernel(x: wl.Global[f32, h + K - 1, w + K - 1], f: wl.Constant[f32, K, K], y: wl.Global[f32, h, w]):
        lane = wl.lane_id()
        top = OUT * (4 * wl.block_id("y") + wl.warp_id())
        left = 32 * wl.block_id("x")
        tile = wl.register(f32, OUT + K - 1, COLS)
        needed = (h + K - 1, min(left + 32, w) + K - 1)
        wl.global_to_register(x, tile, offset=(top, left), rounds=(OUT + K - 1, COLS), warp_shape=(1, 32), size=needed)
        out = wl.accumulator(f32, op="+", inner="*", shape=(OUT,))
        for r in range(OUT + K - 1):
            for kx in range(K):
                got = wl.shfl(tile[r, wl.part(COLS, lane, kx, name="tile_col")], wl.xform(lane, 32, kx, name="lane"))
                for ky in range(max(0, r - OUT + 1), min(K, r + 1)):
                    out[r - ky].add(f[ky, wl.xform(kx, K, lane, name="weight")], got)
        for o in range(OUT):
            if top + o < h and left + lane < w:
                y[top + o, left + lane] = out[o].value()

    return kernel


def conv2d_shared(k_size: int) -> wl.Sketch:
    """Convolution through a tile in shared memory, 8 x 16 outputs per block, one per thread."""
    K = k_size
    h, w = wl.size("h"), wl.size("w")

    @wl.sketch(
        spec=conv2d_spec(K),
        block=(16, 8),
        grid=(wl.ceil_div(w, 16), wl.ceil_div(h, 8)),
        complete_at={"h": 8, "w": 16},
        name=f"conv2d_{K}_shared",
    )
    def kernel(x: wl.Global[f32, h + K - 1, w + K - 1], f: wl.Constant[f32, K, K], y: wl.Global[f32, h, w]):
        top, left = 8 * wl.block_id("y"), 16 * wl.block_id("x")
        row, col = wl.thread_id("y"), wl.thread_id("x")
        tile = wl.shared(f32, 8 + K - 1, 16 + K - 1)
        wl.global_to_shared(x, tile, offset=(top, left))
        wl.sync()
        out = wl.accumulator(f32, op="+", inner="*")
        for ky in range(K):
            for kx in range(K):
                out.add(f[ky, kx], tile[row + ky, col + kx])
        if top + row < h and left + col < w:
            y[top + row, left + col] = out.value()

    return kernel
