"""Kernels in Numba, compiled without a GPU; import only where numba-cuda is installed."""

# pyright: basic
from numba import cuda, float32, types, void


def vector_add(x, y, out):
    i = cuda.grid(1)
    if i < out.shape[0]:
        out[i] = x[i] + y[i]


def stencil(u, w):
    i, j = cuda.grid(2)
    if 1 <= i < u.shape[0] - 1 and 1 <= j < u.shape[1] - 1:
        w[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])


def block_sum(x, out):
    tile = cuda.shared.array(256, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[t] = x[i] if i < x.shape[0] else 0.0
    cuda.syncthreads()
    step = 128
    while step > 0:
        if t < step:
            tile[t] += tile[t + step]
        cuda.syncthreads()
        step //= 2
    if t == 0:
        cuda.atomic.add(out, 0, tile[0])


def warp_sum(x, out):
    i = cuda.grid(1)
    value = x[i]
    for distance in (16, 8, 4, 2, 1):
        value += cuda.shfl_down_sync(0xFFFFFFFF, value, distance)
    if cuda.laneid == 0:
        out[i // 32] = value


def divide(x, y, out):
    i = cuda.grid(1)
    if i < out.shape[0]:
        out[i] = x[i] // y[i] + x[i] % y[i]


_F, _I = types.Array(types.float32, 1, "C"), types.Array(types.int32, 1, "C")
_P = types.Array(types.float32, 2, "C")

KERNELS = {
    "vector_add": (vector_add, void(_F, _F, _F)),
    "stencil": (stencil, void(_P, _P)),
    "block_sum": (block_sum, void(_F, _F)),
    "warp_sum": (warp_sum, void(_F, _F)),
    "divide": (divide, void(_I, _I, _I)),
}


def ptx_of(name: str, capability: tuple[int, int] = (9, 0), *, debug: bool = False) -> str:
    """`debug`: without optimisation, with line numbers and the sections of a debugger."""
    function, signature = KERNELS[name]
    text, _ = cuda.compile(
        function, signature, device=False, abi="numba", cc=capability, output="ptx", debug=debug, opt=not debug, lineinfo=False
    )
    return text
