"""PTX of LLVM's own back end, through llvmlite, as clang and Triton print it; import only where llvmlite is installed."""

# pyright: basic
import llvmlite.binding as llvm

PRELUDE = """
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
declare i32 @llvm.nvvm.shfl.sync.down.i32(i32, i32, i32, i32)
declare float @llvm.sqrt.f32(float)
declare float @llvm.fma.f32(float, float, float)
"""

KERNELS = {
    "axpy": """
define ptx_kernel void @axpy(ptr addrspace(1) noalias readonly %x, ptr addrspace(1) noalias %y, float %a, i32 %n) {
entry:
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %b = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %d = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %o = mul i32 %b, %d
  %i = add i32 %o, %t
  %c = icmp slt i32 %i, %n
  br i1 %c, label %in, label %out
in:
  %w = sext i32 %i to i64
  %p = getelementptr float, ptr addrspace(1) %x, i64 %w
  %q = getelementptr float, ptr addrspace(1) %y, i64 %w
  %u = load float, ptr addrspace(1) %p
  %v = load float, ptr addrspace(1) %q
  %s = call float @llvm.fma.f32(float %a, float %u, float %v)
  store float %s, ptr addrspace(1) %q
  br label %out
out:
  ret void
}
""",
    "switch": """
@tile = internal addrspace(3) global [64 x i32] poison, align 16
@table = internal addrspace(4) constant [4 x i16] [i16 1, i16 -2, i16 3, i16 4]
define internal i32 @helper(i32 %x, <4 x float> %v) noinline {
  %e = extractelement <4 x float> %v, i32 2
  %f = fptosi float %e to i32
  %r = xor i32 %x, %f
  ret i32 %r
}
define ptx_kernel void @choose(ptr %p, i32 %n, <4 x float> %v) {
entry:
  %stack = alloca [8 x i32], align 4
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %slot = getelementptr [64 x i32], ptr addrspace(3) @tile, i32 0, i32 %t
  store i32 %n, ptr addrspace(3) %slot
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  switch i32 %n, label %other [ i32 0, label %a
    i32 1, label %b
    i32 2, label %c
    i32 3, label %a
    i32 4, label %d
    i32 5, label %b ]
a:
  %h = call i32 @helper(i32 %t, <4 x float> %v)
  br label %join
b:
  %s = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %t, i32 4, i32 31)
  br label %join
c:
  %old = atomicrmw add ptr %p, i32 %t seq_cst
  br label %join
d:
  %pair = cmpxchg ptr %p, i32 %t, i32 %n acq_rel monotonic
  %was = extractvalue { i32, i1 } %pair, 0
  br label %join
other:
  %at = getelementptr [8 x i32], ptr %stack, i32 0, i32 %n
  store volatile i32 %n, ptr %at
  %m = urem i32 %t, 4
  %k = getelementptr [4 x i16], ptr addrspace(4) @table, i32 0, i32 %m
  %short = load i16, ptr addrspace(4) %k
  %wide = sext i16 %short to i32
  br label %join
join:
  %r = phi i32 [ %h, %a ], [ %s, %b ], [ %old, %c ], [ %was, %d ], [ %wide, %other ]
  %q = getelementptr i32, ptr %p, i32 %t
  store i32 %r, ptr %q
  ret void
}
""",
    "vectors": """
define ptx_kernel void @vectors(ptr addrspace(1) align 16 %p, ptr addrspace(1) align 16 %q, ptr byval({i8, i64, [3 x i16]}) %s) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %a = getelementptr <4 x float>, ptr addrspace(1) %p, i32 %t
  %v = load <4 x float>, ptr addrspace(1) %a, align 16
  %h = fptrunc <4 x float> %v to <4 x half>
  %f = fadd <4 x half> %h, <half 0xH3C00, half 0xH4000, half 0xH3800, half 0xH0001>
  %l = getelementptr {i8, i64, [3 x i16]}, ptr %s, i32 0, i32 1
  %w = load i64, ptr %l
  %g = getelementptr <4 x half>, ptr addrspace(1) %q, i64 %w
  store <4 x half> %f, ptr addrspace(1) %g, align 8
  %e = extractelement <4 x float> %v, i32 0
  %r = call float @llvm.sqrt.f32(float %e)
  %d = fdiv float %r, 3.0
  store float %d, ptr addrspace(1) %q
  ret void
}
""",
}


FEATURES = {75: "+ptx75", 90: "+ptx80", 100: "+ptx86"}


def ptx_of(name: str, capability: int) -> str:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    module = llvm.parse_assembly(PRELUDE + KERNELS[name])
    module.verify()
    target = llvm.Target.from_triple("nvptx64-nvidia-cuda")
    machine = target.create_target_machine(cpu=f"sm_{capability}", features=FEATURES[capability], opt=2)
    return machine.emit_assembly(module)
