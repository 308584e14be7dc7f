"""Is my swizzle right? NVIDIA/cutlass#3172: ldmatrix.trans of an M-major operand of 128 x 8 halves.

The threads that store it vary; the bank conflicts that the profiler shows were blamed on the swizzle. Of the three that were
tried, Swizzle<3,3,4> is as good as any map can be: look elsewhere. The other two take twice the wavefronts.
"""

import warploom as wl

for swizzle in ("Swizzle<3,3,4>", "Swizzle<3,3,3>", "Swizzle<2,3,4>"):
    found = wl.check_layout(f"{swizzle} o (8,128):(128,1)", "8x128:f16", ["ldmatrix.trans"])
    verdict = "optimal, proved" if found.optimal else f"better: {found.better}"
    print(swizzle, found.wavefronts, "at least", found.least, verdict)
