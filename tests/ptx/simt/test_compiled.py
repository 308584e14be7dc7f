"""Kernels of every kind, as a compiler makes them, against NumPy."""

import re

import numpy as np
import pytest
from numpy.typing import NDArray

from warploom.core import UserError
from warploom.ptx import Launch, launch

from .compiled import compiled

BLOCK_SUM = r"""
extern "C" __global__ void block_sum(const int* a, int* out, int n) {
  __shared__ int s[256];
  int t = threadIdx.x, total = 0;
  for (int i = blockIdx.x * 256 + t; i < n; i += gridDim.x * 256) total += a[i];
  s[t] = total;
  __syncthreads();
  for (int d = 128; d > 0; d >>= 1) { if (t < d) s[t] += s[t + d]; __syncthreads(); }
  if (t == 0) atomicAdd(out, s[0]);
}
"""
WARP_SUM = r"""
extern "C" __global__ void warp_sum(const int* a, int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, v = i < n ? a[i] : 0;
  for (int d = 16; d > 0; d >>= 1) v += __shfl_down_sync(~0u, v, d);
  __shared__ int p[32];
  if ((threadIdx.x & 31) == 0) p[threadIdx.x >> 5] = v;
  __syncthreads();
  if (threadIdx.x < 32) {
    v = threadIdx.x < blockDim.x / 32 ? p[threadIdx.x] : 0;
    for (int d = 16; d > 0; d >>= 1) v += __shfl_xor_sync(~0u, v, d);
    if (threadIdx.x == 0) atomicAdd(out, v);
  }
}
"""
HISTOGRAM = r"""
extern "C" __global__ void histogram(const unsigned char* a, unsigned* h, int n) {
  extern __shared__ unsigned s[];
  s[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) atomicAdd(&s[a[i]], 1u);
  __syncthreads();
  atomicAdd(&h[threadIdx.x], s[threadIdx.x]);
}
"""
COLLATZ = r"""
extern "C" __global__ void collatz(const unsigned* a, unsigned* steps, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned long long x = a[i];
  unsigned c = 0;
  while (x != 1) { if (x & 1) x = 3 * x + 1; else x >>= 1; c++; if (c > 100) break; }
  steps[i] = c;
}
"""
SWITCH = r"""
extern "C" __global__ void choose(const int* a, int* o, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int x = a[i], r;
  switch (x & 7) {
    case 0: r = x * 3; break;
    case 1: r = x / 7; break;
    case 2: r = x % 5; break;
    case 3: r = -x; break;
    case 4: r = __popc(x); break;
    case 5: r = __clz(x); break;
    case 6: r = x << 3; break;
    default: r = x >> 2;
  }
  o[i] = r;
}
"""
CALLS = r"""
__device__ __noinline__ int power(int a, int b) { if (a <= 0) return b; return power(a - 1, b * 3) + 1; }
struct Pair { double x; int n; };
__device__ __noinline__ Pair twice(Pair p, const float* f) { p.x = p.x * 2 + f[p.n]; p.n += 1; return p; }
typedef float (*Function)(float);
__device__ __noinline__ float half_of(float x) { return x * 0.5f; }
__device__ __noinline__ float square(float x) { return x * x; }
__device__ Function table[2] = {half_of, square};
extern "C" __global__ void calls(int* y, double* z, float* w, float* f) {
  int t = threadIdx.x;
  y[t] = power(t % 5, t);
  Pair p = {t * 0.25, t};
  p = twice(p, f);
  z[t] = p.x + p.n;
  w[t] = table[t & 1](f[t]);
}
"""
MEMORY = r"""
__constant__ float weights[4] = {1.0f, 2.0f, 3.0f, 4.0f};
__device__ int counter = 40;
struct Options { int offset; float scale; float4 bias; };
extern "C" __global__ void memory(const float4* x, float4* y, Options o, short* h, int* c) {
  int t = threadIdx.x;
  float local[8];
  for (int i = 0; i < 8; i++) local[(i + t) & 7] = weights[i & 3] * (i + 1);
  float4 v = x[t];
  y[t] = make_float4(v.x * o.scale + o.bias.x, v.y + local[t & 7], v.z + o.offset, v.w + o.bias.w);
  h[t] = (short)(h[t] * 3 - 7);
  if (t < 8) c[t] = atomicAdd(&counter, t + 1);
}
"""
HALVES = r"""
#include <cuda_fp16.h>
extern "C" __global__ void halves(const __half2* a, const __half2* b, __half2* c, float* d) {
  int t = threadIdx.x;
  c[t] = __hfma2(a[t], b[t], __float2half2_rn(0.5f));
  d[t] = __low2float(a[t]) + __high2float(b[t]);
}
"""
DOUBLES = r"""
extern "C" __global__ void doubles(const double* a, double* b, long long* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  b[i] = sqrt(a[i]) / (1.0 + a[i]);
  c[i] = (long long)(a[i] * 1e6) % 1000003;
}
"""
INTRINSICS = r"""
extern "C" __global__ void warp(const int* a, unsigned* y) {
  int t = threadIdx.x, v = a[t];
  unsigned odd = __ballot_sync(~0u, v & 1), same = __match_any_sync(~0u, v);
  y[t] = odd;
  y[t + 64] = same;
  y[t + 128] = __any_sync(~0u, v == 3) * 2 + __all_sync(~0u, v < 100);
  y[t + 192] = __reduce_add_sync(~0u, v);
  y[t + 256] = __shfl_sync(~0u, v, t * 7, 8);
  y[t + 320] = __shfl_up_sync(~0u, v, 3);
}
"""


def run(source: str, args: list[object], *, grid: int = 1, block: int = 256, shared: int = 0) -> Launch:
    ran = launch(compiled(source), grid=grid, block=block, args=args, dynamic_shared_bytes=shared)  # type: ignore[arg-type]
    assert (ran.status, ran.findings) == ("finished", ())
    return ran


def integers(seed: int, low: int, high: int, count: int, dtype: type = np.int32) -> NDArray:
    return np.random.default_rng(seed).integers(low, high, count).astype(dtype)


@pytest.mark.parametrize(("source", "grid", "block"), [(BLOCK_SUM, 5, 256), (WARP_SUM, 40, 256), (WARP_SUM, 70, 160)])
def test_sums(source: str, grid: int, block: int) -> None:
    a = integers(1, -1000, 1000, 10_000)
    ran = run(source, [a, np.zeros(1, np.int32), a.size], grid=grid, block=block)
    assert ran.arrays[1][0] == a.sum()


def test_every_missing_barrier_is_seen() -> None:
    program = compiled(BLOCK_SUM)
    text = program.module.text
    a = integers(1, -1000, 1000, 3000)
    barriers = [match.span() for match in re.finditer(r"bar\.sync\s+0;", text)]
    assert len(barriers) > 2
    # After the last one thread 0 reads only what it wrote itself.
    for number, (start, end) in enumerate(barriers[:-1]):
        ran = launch(text[:start] + text[end:], grid=2, block=256, args=[a, np.zeros(1, np.int32), a.size])
        assert [found.kind for found in ran.findings] == ["shared_race"] * len(ran.findings), number
        assert ran.findings, number


def test_histogram_in_dynamic_shared_memory() -> None:
    a = integers(2, 0, 256, 5000, np.uint8)
    ran = run(HISTOGRAM, [a, np.zeros(256, np.uint32), a.size], grid=3, shared=1024)
    np.testing.assert_array_equal(ran.arrays[1], np.bincount(a, minlength=256))


def test_loops_of_many_lengths() -> None:
    a = integers(3, 1, 10_000, 1000, np.uint32)

    def steps(x: int) -> int:
        count = 0
        while x != 1 and count <= 100:
            x = 3 * x + 1 if x & 1 else x >> 1
            count += 1
        return count

    ran = run(COLLATZ, [a, np.zeros(1000, np.uint32), 1000], grid=4)
    assert ran.arrays[1].tolist() == [steps(int(x)) for x in a]


def test_switch() -> None:
    a = integers(4, -(2**31), 2**31, 1000)

    def chosen(x: int) -> int:
        word = x & 0xFFFFFFFF
        quotient, rest = abs(x) // 7, abs(x) % 5
        cases = [
            x * 3, -quotient if x < 0 else quotient, -rest if x < 0 else rest, -x, word.bit_count(), 32 - word.bit_length(),
            x << 3, x >> 2,
        ]  # fmt: skip
        return cases[x & 7]

    ran = run(SWITCH, [a, np.zeros(1000, np.int32), 1000], grid=4)
    np.testing.assert_array_equal(ran.arrays[1], np.array([chosen(int(x)) for x in a]).astype(np.int32))


def test_calls_recursion_structs_and_function_pointers() -> None:
    f = np.random.default_rng(5).random(64, np.float32)
    t = np.arange(64)
    ran = run(CALLS, [np.zeros(64, np.int32), np.zeros(64), np.zeros(64, np.float32), f], block=64)
    np.testing.assert_array_equal(ran.arrays[0], t * 3 ** (t % 5) + t % 5)
    np.testing.assert_array_equal(ran.arrays[1], t * 0.5 + f + t + 1)
    np.testing.assert_array_equal(ran.arrays[2], np.where(t & 1, f * f, f * np.float32(0.5)))


def test_constants_globals_locals_structs_and_vectors() -> None:
    x = np.random.default_rng(6).random((64, 4), np.float32)
    options = np.zeros((), np.dtype([("offset", "i4"), ("scale", "f4"), ("pad", "i8"), ("bias", "f4", 4)]))
    options["offset"], options["scale"], options["bias"] = 5, 1.5, (1, 2, 3, 4)
    h = integers(7, -100, 100, 64, np.int16)
    ran = run(MEMORY, [x, np.zeros_like(x), options.tobytes(), h, np.zeros(8, np.int32)], block=64)
    t = np.arange(64)
    inside = np.array([[(i & 3) + 1 for i in range(8)]]) * (np.arange(8) + 1)
    local = np.array([inside[0, 0] for _ in t])
    np.testing.assert_allclose(ran.arrays[1][:, 0], x[:, 0] * np.float32(1.5) + np.float32(1), rtol=1e-6)
    np.testing.assert_array_equal(ran.arrays[1][:, 1], x[:, 1] + local.astype(np.float32))
    np.testing.assert_array_equal(ran.arrays[1][:, 2], x[:, 2] + np.float32(5))
    np.testing.assert_array_equal(ran.arrays[1][:, 3], x[:, 3] + np.float32(4))
    np.testing.assert_array_equal(ran.arrays[3], (h * 3 - 7).astype(np.int16))
    np.testing.assert_array_equal(ran.arrays[4], 40 + np.cumsum([0, 1, 2, 3, 4, 5, 6, 7]))


def test_halves() -> None:
    a, b = (np.random.default_rng(seed).random((32, 2)).astype(np.float16) for seed in (8, 9))
    ran = run(HALVES, [a, b, np.zeros_like(a), np.zeros(32, np.float32)], block=32)
    exact = a.astype(np.float64) * b.astype(np.float64) + 0.5
    np.testing.assert_array_equal(ran.arrays[2], exact.astype(np.float16))
    np.testing.assert_array_equal(ran.arrays[3], a[:, 0].astype(np.float32) + b[:, 1].astype(np.float32))


def test_doubles_and_long_integers() -> None:
    a = np.random.default_rng(10).random(500) * 1e4
    ran = run(DOUBLES, [a, np.zeros(500), np.zeros(500, np.int64), 500], grid=2)
    np.testing.assert_array_equal(ran.arrays[1], np.sqrt(a) / (1 + a))
    np.testing.assert_array_equal(ran.arrays[2], (a * 1e6).astype(np.int64) % 1000003)


def test_warp_intrinsics() -> None:
    a = integers(11, 0, 6, 64)
    ran = run(INTRINSICS, [a, np.zeros(384, np.uint32)], block=64)
    y = ran.arrays[1].reshape(6, 2, 32)
    rows = a.reshape(2, 32)
    places = np.uint32(1) << np.arange(32, dtype=np.uint32)
    for warp, row in enumerate(rows):
        assert set(y[0, warp].tolist()) == {int(places[row % 2 == 1].sum())}
        assert y[1, warp].tolist() == [int(places[row == v].sum()) for v in row]
        assert set(y[2, warp].tolist()) == {int((row == 3).any()) * 2 + int((row < 100).all())}
        assert set(y[3, warp].tolist()) == {int(row.sum())}
        assert y[4, warp].tolist() == [int(row[lane // 8 * 8 + lane * 7 % 8]) for lane in range(32)]
        assert y[5, warp].tolist() == [int(row[lane - 3 if lane >= 3 else lane]) for lane in range(32)]


def test_batches_do_not_see_each_other() -> None:
    """More blocks than run together: every block has its own shared memory and the same result."""
    a = integers(12, -1000, 1000, 100_000)
    ran = run(BLOCK_SUM, [a, np.zeros(1, np.int32), a.size], grid=400)
    assert ran.arrays[1][0] == a.sum()


def test_in_place_and_shared_arrays() -> None:
    program = compiled(r'extern "C" __global__ void k(const int* a, int* b) { b[threadIdx.x] = a[threadIdx.x] + 1; }')
    a = np.arange(32, dtype=np.int32)
    ran = launch(program, grid=1, block=32, args=[a, a], in_place=True)
    assert a.tolist() == list(range(1, 33)) == ran.arrays[0].tolist() == ran.arrays[1].tolist()
    a.setflags(write=False)
    with pytest.raises(UserError, match=r"expected arrays that can be written \(in_place\), got a read-only one for argument 0"):
        launch(program, grid=1, block=32, args=[a, a], in_place=True)


def test_arrays_that_overlap() -> None:
    program = compiled(r'extern "C" __global__ void k(const int* a, int* b) { b[threadIdx.x] = a[threadIdx.x] + 1; }')
    whole = np.arange(64, dtype=np.int32)
    ran = launch(program, grid=1, block=32, args=[whole[32:], whole[:48]], in_place=True, checks=False)
    assert ran.arrays[0].tolist() == list(range(32, 64))
    assert whole.tolist() == [*range(33, 65), *range(32, 64)]
    apart = np.arange(64, dtype=np.int32)
    ran = launch(program, grid=1, block=32, args=[apart[32:], apart[:32]], in_place=True)
    assert ran.findings == ()
    assert apart.tolist() == [*range(33, 65), *range(32, 64)]
    rows = np.arange(64, dtype=np.int32).reshape(8, 8)
    ran = launch(program, grid=1, block=32, args=[np.arange(32, dtype=np.int32), rows[:, ::2]], in_place=True)
    assert rows[:, ::2].ravel().tolist() == list(range(1, 33))
    assert rows[:, 1::2].ravel().tolist() == list(range(1, 64, 2))


def test_same_twice() -> None:
    a = np.random.default_rng(13).random(2000, np.float32)
    source = r'extern "C" __global__ void k(const float* a, float* s) { atomicAdd(s, a[blockIdx.x * blockDim.x + threadIdx.x]); }'
    first, second = (run(source, [a, np.zeros(1, np.float32)], grid=20, block=100).arrays[1] for _ in range(2))
    total = np.float32(0)
    for value in a:
        total = np.float32(total + value)
    assert first[0] == second[0] == total


COPIES = r"""
#include <cuda_pipeline.h>
extern "C" __global__ void copies(const float4* x, float4* y) {
  __shared__ float4 tile[2][32];
  for (int s = 0; s < 2; s++) {
    __pipeline_memcpy_async(&tile[s][threadIdx.x], x + s * 32 + threadIdx.x, 16);
    __pipeline_commit();
  }
  __pipeline_wait_prior(1);
  __syncthreads();
  y[threadIdx.x] = tile[0][31 - threadIdx.x];
  __pipeline_wait_prior(0);
  __syncthreads();
  y[threadIdx.x + 32] = tile[1][31 - threadIdx.x];
}
"""
BARRIER_OBJECT = r"""
extern "C" __global__ void waits(int* y) {
  __shared__ __align__(8) unsigned long long object;
  __shared__ int tile[64];
  unsigned at = (unsigned)__cvta_generic_to_shared(&object);
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 64;" :: "r"(at));
  __syncthreads();
  for (int phase = 0; phase < 4; phase++) {
    tile[threadIdx.x] = threadIdx.x * 10 + phase;
    asm volatile("{.reg .b64 s; mbarrier.arrive.shared::cta.b64 s, [%0];}" :: "r"(at) : "memory");
    asm volatile("{.reg .pred P;\nW: mbarrier.try_wait.parity.shared::cta.b64 P, [%0], %1;\n@!P bra W;\n}"
                 :: "r"(at), "r"(phase & 1) : "memory");
    y[threadIdx.x] += tile[63 - threadIdx.x];
    __syncthreads();
  }
}
"""
MATRICES = r"""
extern "C" __global__ void product(const unsigned* a, const unsigned* b, float* c) {
  __shared__ __align__(16) unsigned sa[128], sb[64];
  int l = threadIdx.x;
  for (int i = l; i < 128; i += 32) sa[i] = a[i];
  for (int i = l; i < 64; i += 32) sb[i] = b[i];
  __syncwarp();
  unsigned a0, a1, a2, a3, b0, b1;
  float d0 = 0, d1 = 0, d2 = 0, d3 = 0;
  unsigned pa = (unsigned)__cvta_generic_to_shared(sa + (l % 16) * 8 + (l / 16) * 4);
  unsigned pb = (unsigned)__cvta_generic_to_shared(sb + (l % 16) * 4);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(a0), "=r"(a1), "=r"(a2), "=r"(a3) : "r"(pa));
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];" : "=r"(b0), "=r"(b1) : "r"(pb));
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(d0), "+f"(d1), "+f"(d2), "+f"(d3) : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
  int g = l / 4, t = l % 4;
  c[g*8+2*t] = d0; c[g*8+2*t+1] = d1; c[(g+8)*8+2*t] = d2; c[(g+8)*8+2*t+1] = d3;
}
extern "C" __global__ void transposed(const unsigned* a, unsigned* y) {
  __shared__ __align__(16) unsigned s[128];
  int l = threadIdx.x;
  unsigned at = (unsigned)__cvta_generic_to_shared(s + l * 4);
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1,%2,%3,%4};"
               :: "r"(at), "r"(a[l]), "r"(a[l + 32]), "r"(a[l + 64]), "r"(a[l + 96]) : "memory");
  __syncwarp();
  for (int i = 0; i < 4; i++) y[i * 32 + l] = s[i * 32 + l];
}
"""


def test_asynchronous_copies() -> None:
    x = np.random.default_rng(14).random((64, 4), np.float32)
    ran = run(COPIES, [x, np.zeros_like(x)], block=32)
    np.testing.assert_array_equal(ran.arrays[1], np.concatenate([x[:32][::-1], x[32:][::-1]]))
    early = launch(compiled(COPIES.replace("wait_prior(1)", "wait_prior(2)")), grid=1, block=32, args=[x, np.zeros_like(x)])
    assert [found.kind for found in early.findings] == ["early_copy_read"]


def test_barrier_objects() -> None:
    ran = run(BARRIER_OBJECT, [np.zeros(64, np.int32)], block=64)
    np.testing.assert_array_equal(ran.arrays[0], (63 - np.arange(64)) * 40 + 6)


def test_matrix_instructions() -> None:
    a, b = (np.random.default_rng(seed).random(shape).astype(np.float16) for seed, shape in ((15, (16, 16)), (16, (16, 8))))
    program = compiled(MATRICES)
    ran = launch(program, "product", grid=1, block=32, args=[a, b, np.zeros((16, 8), np.float32)])
    assert (ran.status, ran.findings) == ("finished", ())
    np.testing.assert_allclose(ran.arrays[2], a.astype(np.float64) @ b.astype(np.float64), rtol=1e-6)
    words = np.arange(256, dtype=np.uint16)
    ran = launch(program, "transposed", grid=1, block=32, args=[words, np.zeros(256, np.uint16)])
    assert (ran.status, ran.findings) == ("finished", ())
    np.testing.assert_array_equal(ran.arrays[1].reshape(4, 8, 8), words.reshape(4, 8, 8).transpose(0, 2, 1))


def test_assertion() -> None:
    source = r'extern "C" __global__ void k(int* y) { if (y[threadIdx.x] >= 5) __assertfail("y < 5", "k.cu", 7, "k", 1); }'
    ran = launch(compiled(source), grid=1, block=32, args=[np.arange(32, dtype=np.int32)])
    assert (ran.status, ran.findings[0].kind, ran.findings[0].thread) == ("fault", "trap", (5, 0, 0))
    assert "assertion failed: y < 5 (k.cu:7, k)" in ran.findings[0].message


def test_printf() -> None:
    source = r"""extern "C" __global__ void k(const float* x) {
      if (threadIdx.x % 16 == 3)
        printf("%d: %5.2f|%-4s|%x %llu %c%%\n", threadIdx.x, x[threadIdx.x], "ab", 255u + blockIdx.x, 1ull << 40, 'z');
    }"""
    ran = launch(compiled(source), grid=2, block=32, args=[np.arange(32, dtype=np.float32) / 3])
    assert (ran.status, ran.findings) == ("finished", ())
    assert ran.printed == tuple(
        f"{t}: {t / 3:5.2f}|ab  |{255 + block:x} 1099511627776 z%\n" for block in range(2) for t in (3, 19)
    )
