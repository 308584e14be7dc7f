"""Rows for data movement, conversion, textures, surfaces: PTX ISA 9.7.9 to 9.7.11 and 9.7.17."""

from __future__ import annotations

from warploom.ptx.instructions.rows import Row, row

MOVE_ROWS: tuple[Row, ...] = (
    row("mov", "9.7.9.3", "move", "d:1 a:1"),
    row("prmt", "9.7.9.7", "move", "d:b32 a:b32 a:b32 a:b32", ptx=(2, 0), sm=20),
    row("isspacep", "9.7.9.19", "convert", "d:p a", ptx=(2, 0), sm=20),
    row("cvta", "9.7.9.20", "convert", "d:1 a:1", ptx=(2, 0), sm=20),
    row("cvt", "9.7.9.21", "convert", "d a a? a?"),
    row("cvt.pack", "9.7.9.22", "convert", "d a a a?", ptx=(6, 5), sm=72),
    row("mapa", "9.7.9.23", "convert", "d:1 a a:b32", ptx=(7, 8), sm=90),
    row("getctarank", "9.7.9.24", "convert", "d:b32 a", ptx=(7, 8), sm=90),
)

MEMORY_ROWS: tuple[Row, ...] = (
    row("ld", "9.7.9.8", "memory", "d m a?", memory="reads"),
    row("ld.nc", "9.7.9.9", "memory", "d m a?", ptx=(3, 1), sm=32, memory="reads", title="ld.global.nc"),
    row("ldu", "9.7.9.10", "memory", "d m", ptx=(2, 0), memory="reads"),
    row("st", "9.7.9.11", "memory", "m a a?", memory="writes"),
    row("st.async", "9.7.9.12", "async", "m a m?", ptx=(8, 1), sm=90, memory="writes"),
    row("st.bulk", "9.7.9.13", "memory", "m a a", ptx=(8, 6), sm=100, memory="writes"),
    row("multimem.ld_reduce", "9.7.9.14", "memory", "d m", ptx=(8, 1), sm=90, memory="reads"),
    row("multimem.st", "9.7.9.14", "memory", "m a", ptx=(8, 1), sm=90, memory="writes"),
    row("multimem.red", "9.7.9.14", "memory", "m a", ptx=(8, 1), sm=90, memory="reads writes"),
    row("prefetch", "9.7.9.15", "memory", "m", ptx=(2, 0), sm=20),
    row("prefetchu", "9.7.9.15", "memory", "m", ptx=(2, 0), sm=20),
    row("applypriority", "9.7.9.16", "memory", "m a", ptx=(7, 4), sm=80),
    row("discard", "9.7.9.17", "memory", "m a", ptx=(7, 4), sm=80, memory="writes"),
    row("createpolicy.range", "9.7.9.18", "memory", "d:b64 m a:b32 a:b32", ptx=(7, 4), sm=80),
    row("createpolicy.fractional", "9.7.9.18", "memory", "d:b64 a?", ptx=(7, 4), sm=80),
    row("createpolicy.cvt", "9.7.9.18", "memory", "d:b64 a:b64", ptx=(7, 4), sm=80),
    row("stacksave", "9.7.17.1", "memory", "d:1", ptx=(7, 3), sm=52),
    row("stackrestore", "9.7.17.2", "memory", "a:1", ptx=(7, 3), sm=52),
    row("alloca", "9.7.17.3", "memory", "d:1 a:1 a?", ptx=(7, 3), sm=52),
)

ASYNC_ROWS: tuple[Row, ...] = (
    row("cp.async", "9.7.9.25.3.1", "async", "m m i a? a?", ptx=(7, 0), sm=80, memory="reads writes"),
    row("cp.async.commit_group", "9.7.9.25.3.2", "async", "", ptx=(7, 0), sm=80),
    row("cp.async.wait_group", "9.7.9.25.3.3", "async", "i", ptx=(7, 0), sm=80, memory="orders"),
    row("cp.async.wait_all", "9.7.9.25.3.3", "async", "", ptx=(7, 0), sm=80, memory="orders"),
    row("cp.async.bulk", "9.7.9.25.4.1", "async", "m m a a*", ptx=(8, 0), sm=90, memory="reads writes"),
    row("cp.reduce.async.bulk", "9.7.9.25.4.2", "async", "m m a a*", ptx=(8, 0), sm=90, memory="reads writes"),
    row("cp.async.bulk.prefetch", "9.7.9.25.4.3", "async", "m a a?", ptx=(8, 0), sm=90),
    row("multimem.cp.async.bulk", "9.7.9.25.4.4", "async", "m m a a?", ptx=(9, 1), sm=90, memory="reads writes"),
    row("multimem.cp.reduce.async.bulk", "9.7.9.25.4.5", "async", "m m a", ptx=(9, 1), sm=90, memory="reads writes"),
    row("cp.async.bulk.tensor", "9.7.9.27.1.2", "async", "m m a*", ptx=(8, 0), sm=90, memory="reads writes"),
    row("cp.reduce.async.bulk.tensor", "9.7.9.27.1.3", "async", "m m a*", ptx=(8, 0), sm=90, memory="reads writes"),
    row("cp.async.bulk.prefetch.tensor", "9.7.9.27.1.4", "async", "m a*", ptx=(8, 0), sm=90),
    row("cp.async.bulk.commit_group", "9.7.9.27.2.1", "async", "", ptx=(8, 0), sm=90),
    row("cp.async.bulk.wait_group", "9.7.9.27.2.2", "async", "i", ptx=(8, 0), sm=90, memory="orders"),
    row("tensormap.replace", "9.7.9.28", "async", "m a a?", ptx=(8, 3), sm=90, memory="writes"),
)

TEXTURE_ROWS: tuple[Row, ...] = (
    row("tex", "9.7.10.3", "texture", "d m a*", memory="reads"),
    row("tld4", "9.7.10.4", "texture", "d m a*", ptx=(2, 2), sm=20, memory="reads"),
    row("txq", "9.7.10.5", "texture", "d m a?", ptx=(2, 0)),
    row("istypep", "9.7.10.6", "texture", "d:p a", ptx=(4, 0), sm=30),
    row("suld", "9.7.11.1", "texture", "d m", ptx=(1, 5), sm=20, memory="reads"),
    row("sust", "9.7.11.2", "texture", "m a", ptx=(1, 5), sm=20, memory="writes"),
    row("sured", "9.7.11.3", "texture", "m a", ptx=(3, 0), sm=20, memory="reads writes"),
    row("suq", "9.7.11.4", "texture", "d m", ptx=(3, 0), sm=20),
)
