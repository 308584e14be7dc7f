"""Work of counted executions."""

import numpy as np

from warploom.gpu import counted_work, executed_cycles
from warploom.ir import fill, run
from warploom.kernels import find
from warploom.machines import Work, architecture, joined, usual
from warploom.ptx import launch


def test_work_grows_with_what_the_interpreter_counts() -> None:
    found: list[Work] = []
    for taps in (3, 9):
        kernel = find(f"conv1d-{taps}").baseline.kernel
        sizes = {"n": 512}
        arrays = {"x": np.ones(512 + taps - 1, np.float32), "w": np.ones(taps, np.float32)}
        found.append(counted_work(run(fill(kernel, {}), arrays, sizes, note_waits=True).counts))
    small, large = (usual(architecture("sm_80")).cycles(work) for work in found)
    assert joined(large.values()) > joined(small.values()) > 0
    assert all(large[unit] >= small[unit] for unit in large)
    assert found[0].l2_bytes % 32 == 0


PTX = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out)
{
    .reg .b32 %r<4>;
    .reg .b64 %rd<4>;
    .reg .f32 %f<3>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    add.s32 %r2, %r1, %r1;
    cvt.rn.f32.s32 %f1, %r2;
    add.f32 %f2, %f1, %f1;
    shfl.sync.bfly.b32 %r3, %r2, 1, 31, -1;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
    st.global.f32 [%rd3], %f2;
    ret;
}
"""


def test_cycles_of_a_launch_are_those_of_its_busiest_unit() -> None:
    done = launch(PTX, "k", grid=1, block=64, args=[np.zeros(64, np.float32)], counts=True)
    assert done.counts is not None
    found = executed_cycles(done.counts, architecture("sm_90"))
    # Two warps: a shuffle each; five for the integer units, of 64 lanes; one for the 128 f32 lanes; ten in all, four a cycle.
    assert found == {"exchange": 2, "alu": 5, "fma": 0.5, "issue": 5, "cycles": 5}
    assert executed_cycles(done.counts, architecture("sm_120"))["alu"] == 2.5, "cores that do either"
