"""Rows for control flow, barriers, atomics, warps, matrices: PTX ISA 9.7.12 to 9.7.16 and 9.7.19."""

from __future__ import annotations

from warploom.ptx.instructions.rows import Row, row

CONTROL_ROWS: tuple[Row, ...] = (
    row("bra", "9.7.12.3", "control", "l"),
    row("brx", "9.7.12.4", "control", "a:b32 l", ptx=(6, 0), sm=30, title="brx.idx"),
    row("call", "9.7.12.5", "control", "a*", memory="reads writes orders"),
    row("ret", "9.7.12.6", "control", ""),
    row("exit", "9.7.12.7", "control", ""),
)

BARRIER_ROWS: tuple[Row, ...] = (
    *(row(f"{name}.{what}", "9.7.13.1", "barrier", signature, ptx=version, memory="orders", collective="block")
      for name, version in (("bar", (1, 0)), ("barrier", (6, 0)))
      for what, signature in (("sync", "a:b32 a:b32?"), ("arrive", "a:b32 a:b32"), ("red", "d a:b32 a:b32? a:p"))),
    row("bar.warp.sync", "9.7.13.2", "barrier", "a:b32", ptx=(6, 0), sm=30, memory="orders", collective="warp"),
    row("barrier.cluster.arrive", "9.7.13.3", "barrier", "", ptx=(7, 8), sm=90, memory="orders", collective="cluster"),
    row("barrier.cluster.wait", "9.7.13.3", "barrier", "", ptx=(7, 8), sm=90, memory="orders", collective="cluster"),
    row("membar", "9.7.13.4", "barrier", "", ptx=(1, 4), memory="orders"),
    row("fence", "9.7.13.4", "barrier", "m? a?", ptx=(6, 0), sm=70, memory="orders"),
    row("griddepcontrol", "9.7.13.13", "barrier", "", ptx=(7, 8), sm=90, memory="orders"),
    row("mbarrier.init", "9.7.13.15.9", "barrier", "m a:b32", ptx=(7, 0), sm=80, memory="writes orders"),
    row("mbarrier.inval", "9.7.13.15.10", "barrier", "m", ptx=(7, 0), sm=80, memory="writes orders"),
    row("mbarrier.expect_tx", "9.7.13.15.11", "barrier", "m a:b32", ptx=(8, 0), sm=90, memory="reads writes orders"),
    row("mbarrier.complete_tx", "9.7.13.15.12", "barrier", "m a:b32", ptx=(8, 0), sm=90, memory="reads writes orders"),
    row("mbarrier.arrive", "9.7.13.15.13", "barrier", "d:b64 m a:b32?", ptx=(7, 0), sm=80, memory="reads writes orders"),
    row("mbarrier.arrive.expect_tx", "9.7.13.15.13", "barrier", "d:b64 m a:b32", ptx=(8, 0), sm=90,
        memory="reads writes orders"),
    row("mbarrier.arrive_drop", "9.7.13.15.14", "barrier", "d:b64 m a:b32?", ptx=(7, 0), sm=80, memory="reads writes orders"),
    row("mbarrier.arrive_drop.expect_tx", "9.7.13.15.14", "barrier", "d:b64 m a:b32", ptx=(8, 0), sm=90,
        memory="reads writes orders"),
    row("cp.async.mbarrier.arrive", "9.7.13.15.15", "barrier", "m", ptx=(7, 0), sm=80, memory="reads writes orders"),
    row("mbarrier.test_wait", "9.7.13.15.16", "barrier", "d:p m a", ptx=(7, 0), sm=80, memory="reads orders"),
    row("mbarrier.try_wait", "9.7.13.15.16", "barrier", "d:p m a a:b32?", ptx=(7, 8), sm=90, memory="reads orders"),
    row("mbarrier.pending_count", "9.7.13.15.17", "barrier", "d:b32 a:b64", ptx=(7, 0), sm=80),
    row("tensormap.cp_fenceproxy", "9.7.13.16", "barrier", "m m a", ptx=(8, 3), sm=90, memory="reads writes orders",
        collective="warp"),
    row("clusterlaunchcontrol.try_cancel", "9.7.13.17", "async", "m m", ptx=(8, 6), sm=100, memory="writes"),
    row("clusterlaunchcontrol.query_cancel", "9.7.13.18", "async", "d a", ptx=(8, 6), sm=100),
)  # fmt: skip

ATOMIC_ROWS: tuple[Row, ...] = (
    row("atom", "9.7.13.5", "memory", "d m a a? a?", ptx=(1, 1), sm=11, memory="reads writes"),
    row("red", "9.7.13.6", "memory", "m a a?", ptx=(1, 2), sm=11, memory="reads writes"),
    row("red.async", "9.7.13.7", "async", "m a m?", ptx=(8, 1), sm=90, memory="reads writes"),
)

WARP_ROWS: tuple[Row, ...] = (
    row("shfl", "9.7.9.5", "warp", "d:b32 a:b32 a:b32 a:b32", ptx=(3, 0), sm=30, collective="warp"),
    row("shfl.sync", "9.7.9.6", "warp", "d:b32 a:b32 a:b32 a:b32 a:b32", ptx=(6, 0), sm=30, collective="warp"),
    row("vote", "9.7.13.8", "warp", "d a:p", ptx=(1, 2), sm=12, collective="warp"),
    row("vote.sync", "9.7.13.9", "warp", "d a:p a:b32", ptx=(6, 0), sm=30, collective="warp"),
    row("match.sync", "9.7.13.10", "warp", "d:b32 a:1 a:b32", ptx=(6, 0), sm=70, collective="warp"),
    row("activemask", "9.7.13.11", "warp", "d:b32", ptx=(6, 2), sm=30, collective="warp"),
    row("redux.sync", "9.7.13.12", "warp", "d:1 a:1 a:b32", ptx=(7, 0), sm=80, collective="warp"),
    row("elect.sync", "9.7.13.14", "warp", "d a:b32", ptx=(8, 0), sm=90, collective="warp"),
)

MATRIX_ROWS: tuple[Row, ...] = (
    row("wmma.load", "9.7.14.4.3", "matrix", "d m a:b32?", ptx=(6, 0), sm=70, memory="reads", collective="warp"),
    row("wmma.store", "9.7.14.4.4", "matrix", "m a a:b32?", ptx=(6, 0), sm=70, memory="writes", collective="warp"),
    row("wmma.mma", "9.7.14.4.5", "matrix", "d a a a", ptx=(6, 0), sm=70, collective="warp"),
    row("mma", "9.7.14.5.14", "matrix", "d a a a a*", ptx=(6, 4), sm=70, collective="warp", title="mma.sync"),
    row("mma.sp", "9.7.14.6.3", "matrix", "d a a a a a a*", ptx=(7, 1), sm=80, collective="warp", title="mma.sp.sync"),
    row("ldmatrix", "9.7.14.5.15", "matrix", "d m", ptx=(6, 5), sm=75, memory="reads", collective="warp"),
    row("stmatrix", "9.7.14.5.16", "matrix", "m a", ptx=(7, 8), sm=90, memory="writes", collective="warp"),
    row("movmatrix", "9.7.14.5.17", "matrix", "d a", ptx=(7, 8), sm=75, collective="warp"),
    row("wgmma.mma_async", "9.7.15.5.2", "matrix", "x a a a*", ptx=(8, 0), sm=90, memory="reads", collective="warpgroup"),
    row("wgmma.mma_async.sp", "9.7.15.6.4", "matrix", "x a a a a a*", ptx=(8, 2), sm=90, memory="reads",
        collective="warpgroup"),
    row("wgmma.fence", "9.7.15.7.1", "matrix", "", ptx=(8, 0), sm=90, memory="orders", collective="warpgroup"),
    row("wgmma.commit_group", "9.7.15.7.2", "matrix", "", ptx=(8, 0), sm=90, collective="warpgroup"),
    row("wgmma.wait_group", "9.7.15.7.3", "matrix", "i", ptx=(8, 0), sm=90, memory="orders", collective="warpgroup"),
    *(row(f"tcgen05.{name}", f"9.7.16.{number}", "matrix", signature, ptx=(8, 6), sm=100, memory=memory, collective="warp")
      for name, number, signature, memory in (
          ("alloc", "7.1", "m a:b32", "writes"),
          ("dealloc", "7.1", "a:b32 a:b32", ""),
          ("relinquish_alloc_permit", "7.1", "", ""),
          ("ld", "8.3", "d m a?", "reads"),
          ("st", "8.4", "m a a?", "writes"),
          ("wait", "8.5", "", "orders"),
      )),
    row("tcgen05.ld.red", "9.7.16.8.3", "matrix", "d d m a?", ptx=(9, 1), sm=103, memory="reads", collective="warp"),
    *(row(f"tcgen05.{name}", f"9.7.16.{number}", "matrix", signature, ptx=(8, 6), sm=100, memory=memory)
      for name, number, signature, memory in (
          ("cp", "9.1", "m a", "reads writes"),
          ("shift", "9.2", "m", "reads writes"),
          ("mma", "10.9.1", "m a a a a*", "reads writes"),
          ("mma.sp", "10.9.2", "m a a m a a*", "reads writes"),
          ("mma.ws", "10.9.3", "m a a a a*", "reads writes"),
          ("mma.ws.sp", "10.9.4", "m a a m a a*", "reads writes"),
          ("fence", "11.1", "", "orders"),
          ("commit", "12.1", "m a?", "orders"),
      )),
)  # fmt: skip

MISCELLANEOUS_ROWS: tuple[Row, ...] = (
    row("brkpt", "9.7.19.1", "misc", "", sm=11),
    row("nanosleep", "9.7.19.2", "misc", "a:b32", ptx=(6, 3), sm=70),
    row("pmevent", "9.7.19.3", "misc", "i", ptx=(1, 4)),
    row("trap", "9.7.19.4", "misc", ""),
    row("setmaxnreg", "9.7.19.5", "misc", "i", ptx=(8, 0), sm=90, collective="warpgroup"),
)
