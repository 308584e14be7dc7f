"""The form of the printed text."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.schedule.cuda import nests

from warploom.core import BY_NAME
from warploom.core.linear import Linear
from warploom.ctext import Text
from warploom.gpu import toolchain_available
from warploom.schedule.backbone import Constant, Operator, Role
from warploom.schedule.cuda import Options, compile_kernel, cuda_kernel, facts_of, interpret, interpret_all
from warploom.schedule.cuda.context import Context
from warploom.schedule.cuda.facts import gather
from warploom.schedule.cuda.indices import Indices
from warploom.schedule.nest import Cache, Compute, Guard, Kind, Load, Loop, Memory, Ref, Store

AXPY = """// grid 8 x 1 x 1, block 32 x 1 x 1
extern "C" __global__ void __launch_bounds__(32)
axpy(const float* __restrict__ x, float* __restrict__ y, float alpha)
{
    const int bx = blockIdx.x;  // block: 8
    const int tx = threadIdx.x;  // thread: 32
    const float* x_thread = x + (bx * 32 + tx) * 4;
    const int index = (bx * 32 + tx) * 4;
    float* y_thread = y + (bx * 32 + tx) * 4;

    float x_v[4];
    {
        const float4 lanes = index < 1000 ? *reinterpret_cast<const float4*>(x_thread) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        x_v[0] = lanes.x;
        x_v[1] = lanes.y;
        x_v[2] = lanes.z;
        x_v[3] = lanes.w;
    }
    float y_v[4];
    {
        const float4 lanes = index < 1000 ? *reinterpret_cast<const float4*>(y_thread) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        y_v[0] = lanes.x;
        y_v[1] = lanes.y;
        y_v[2] = lanes.z;
        y_v[3] = lanes.w;
    }
    float r[4];
    #pragma unroll
    for (int v = 0; v < 4; ++v) {
        r[v] = fmaf(alpha, x_v[v], y_v[v]);
    }
    if (index < 1000) {
        *reinterpret_cast<float4*>(y_thread) = make_float4(r[0], r[1], r[2], r[3]);
    }
}
"""


def test_the_text_of_axpy() -> None:
    assert cuda_kernel(nests.axpy().nest).text == AXPY


def test_words_of_cpp_are_no_names() -> None:
    nest = nests.axpy().nest
    x, y = nest.buffers
    text = cuda_kernel(replace(nest, name="friend", buffers=(replace(x, name="throw"), replace(y, name="fmaf")))).text
    assert "\nfriend_2(const float* __restrict__ throw_2, float* __restrict__ fmaf_2, float alpha)\n" in text


def test_kernels_are_not_named_like_functions_of_cuda() -> None:
    nest = nests.axpy().nest
    x, y = nest.buffers
    text = cuda_kernel(replace(nest, name="norm", buffers=(replace(x, name="j1"), y))).text
    assert "\nnorm_2(const float* __restrict__ j1, " in text


def test_offsets_are_sums() -> None:
    """Negative strides, 64 bits only where 32 do not suffice, a test of each end where an index has 64."""
    loops = {n: Loop(n, name, Kind.LOOP, 1 << 20, ()) for n, name in enumerate("ij")}
    indices = Indices(loops, frozenset(), (1, 1, 1), (1, 1, 1))
    for number, name in enumerate("ij"):
        indices.texts["loop", number], indices.highs["loop", number] = name, loops[number].size - 1
    forms = {a: indices.form(a) for a in (Linear(((0, -16),), 31), Linear(((0, 4), (1, -1)), -5), Linear(((0, 1 << 12),), -1))}
    texts = [indices.text(form).text for form in forms.values()]
    assert texts == ["-i * 16 + 31", "i * 4 - j - 5", "static_cast<long long>(i) * 4096 - 1"]
    assert indices.text(forms[Linear(((0, 4), (1, -1)), -5)], Text("p")).text == "p + i * 4 - j - 5"
    context = Context(gather(nests.axpy().nest), Options(), indices, {})
    wide = [t.text for t in context.conditions([Guard(Linear(((0, 1 << 12),), -1), 1 << 31)])]
    assert wide == ["static_cast<long long>(i) * 4096 - 1 >= 0", "static_cast<long long>(i) * 4096 - 1 < 2147483648"]


def test_edges_test_both_ends_at_once() -> None:
    assert "unsigned(index + u * 32 + w - 1) < 100u" in cuda_kernel(nests.stencil().nest).text


def test_large_arrays_have_64_bit_indices() -> None:
    text = cuda_kernel(nests.matmul(m=1 << 17, n=1 << 15, k=32, has_arrays=False).nest).text
    assert "C + (static_cast<long long>(by) * 8 + ty)" in text
    assert "static_cast" not in cuda_kernel(nests.matmul(m=1 << 10, n=1 << 10, k=32, has_arrays=False).nest).text


def test_names_of_loops_that_are_not_identifiers() -> None:
    b = nests.Builder("int")
    x, y = b.array("x.y", 4), b.array("float", 4, Role.OUTPUT)
    value = b.value("3 v")

    def body(i: int) -> list[nests.Node]:
        return [Load(Ref(value, ()), Memory(x, nests.index((i, 1)))), Store(Memory(y, nests.index((i, 1))), Ref(value, ()))]

    text = cuda_kernel(b.nest(b.loop(Kind.LOOP, 4, body, "mad.m1"))).text
    assert "int_2(const float* __restrict__ x_y, float* __restrict__ float_2)" in text
    assert "for (int mad_m1 = 0; mad_m1 < 4; ++mad_m1)" in text


@pytest.mark.skipif(not toolchain_available(), reason="needs the extra `cuda`")
class TestCompiled:
    def test_half_precision_inputs(self) -> None:
        b = nests.Builder("widen")
        half, single = BY_NAME["f16"], BY_NAME["f32"]
        x, y = b.array("x", 16, dtype=half), b.array("y", 16, Role.OUTPUT)
        read, wide = b.value("h", dtype=half), b.value("w", dtype=single)

        def body(t: int) -> list[nests.Node]:
            return [
                Load(Ref(read, ()), Memory(x, nests.index((t, 1)))),
                Compute(Ref(wide, ()), Operator.CAST, (Ref(read, ()),)),
                Store(Memory(y, nests.index((t, 1))), Ref(wide, ())),
            ]

        data = nests.random(16).astype(np.float16)
        kernel = cuda_kernel(b.nest(b.threads(16, body)))
        outcome = interpret(kernel, {"x": data, "y": np.zeros(16, np.float32)})
        assert np.array_equal(outcome.arrays["y"], data.astype(np.float32))

    @pytest.mark.parametrize(("name", "cache"), [("f16", Cache.READ_ONLY), ("bf16", Cache.L2)])
    def test_loads_of_halves_stay_under_their_guards(self, name: str, cache: Cache) -> None:
        """The loads of cuda_fp16.h are `asm` that the compiler takes out of the loop, and so out from under the guard."""
        b = nests.Builder("summed")
        dtype = BY_NAME[name]
        x, y = b.array("x", 20, dtype=dtype), b.array("y", 32, Role.OUTPUT)
        read, wide, total = (
            Ref(b.value(v, dtype=t), ()) for v, t in (("h", dtype), ("w", BY_NAME["f32"]), ("s", BY_NAME["f32"]))
        )

        def body(t: int) -> list[nests.Node]:
            place = nests.index((t, 1))
            summed = [
                Load(read, Memory(x, place, (Guard(place, 20),), cache=cache)),
                Compute(wide, Operator.CAST, (read,)),
                Compute(total, Operator.ADD, (total, wide)),
            ]
            loop = b.loop(Kind.LOOP, 9, lambda _: summed, "k")
            return [Compute(total, Operator.MOVE, (Constant(0.0),)), loop, Store(Memory(y, place), total)]

        kernel = cuda_kernel(b.nest(b.threads(32, body)))
        data = np.arange(20, dtype=np.float16 if name == "f16" else np.float32)
        outcome = interpret(kernel, {"x": data, "y": np.zeros(32, np.float32)})
        assert not outcome.findings
        assert outcome.arrays["y"].tolist() == [9.0 * n for n in range(20)] + [0.0] * 12

    def test_integers(self) -> None:
        b = nests.Builder("integers")
        whole = BY_NAME["i32"]
        x, y = b.array("x", 16, dtype=whole), b.array("y", 16, Role.OUTPUT, whole)
        value, other = b.value("v", dtype=whole), b.value("w", dtype=whole)

        def body(t: int) -> list[nests.Node]:
            v, w = Ref(value, ()), Ref(other, ())
            return [
                Load(v, Memory(x, nests.index((t, 1)))),
                Compute(w, Operator.FMA, (v, v, nests.Constant(-7.0))),
                Compute(w, Operator.MAX, (w, v)),
                Compute(w, Operator.ABS, (w,)),
                Store(Memory(y, nests.index((t, 1))), w),
            ]

        data = np.arange(-8, 8, dtype=np.int32)
        kernel = cuda_kernel(b.nest(b.threads(16, body)))
        outcome = interpret(kernel, {"x": data, "y": np.zeros(16, np.int32)})
        assert np.array_equal(outcome.arrays["y"], np.abs(np.maximum(data * data - 7, data)))

    def test_programs_pass_arrays_on(self) -> None:
        case = nests.transpose(32)
        kernel = cuda_kernel(case.nest)
        back = cuda_kernel(case.nest)
        outcome = interpret_all([kernel, back], {"A": case.arrays["A"]})
        assert np.array_equal(outcome.arrays["B"].reshape(32, 32), case.arrays["A"].T)

    def test_a_large_matmul_keeps_its_tile_in_registers(self) -> None:
        case = nests.matmul(128, 128, 32, (128, 128, 16), (8, 8), stages=2, is_async=True)
        kernel = cuda_kernel(case.nest)
        facts = facts_of(kernel, compile_kernel(kernel))
        assert (facts.local_bytes, facts.spill_bytes) == (0, 0)
        assert 64 < facts.registers <= 128
        assert facts.shared_bytes == 32 * 1024
