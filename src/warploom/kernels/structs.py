"""Arrays of structures: loads that stay coalesced although every lane wants a whole structure.

32 structures of S words are one tile: a matrix of S registers (rows) by 32 lanes (columns). Loaded coalesced, element
32*r + t of the tile is in register r of lane t; wanted, word j of structure t is in register j of lane t. A word may be a
vector (`int2`, `int4`): a unit that always moves as one.
Source: Swizzle Inventor, section 7.3, Listing 4, footnote 2.
"""

# ruff: noqa: N806  (capitals: compile-time constants of a sketch)
# pyright: basic, reportInvalidTypeForm=false, reportIndexIssue=false

from warploom.core import DType, i32, scalar_of
from warploom.kernels import language as wl

LANES = 32


def store_spec(words: int):
    """Array of structures to structure of arrays, tile by tile: dst[32*j + i] = src[S*i + j]."""
    S = words

    def spec(src, dst, tiles):
        for t in range(tiles):
            for i in range(32):
                for j in range(S):
                    dst[32 * S * t + 32 * j + i] = src[32 * S * t + S * i + j]

    return spec


def store_crc(words: int, dtype: DType = i32, warps: int = 1) -> wl.Sketch:
    """Load, permute registers, shuffle lanes, permute registers, store: Catanzaro's column-row-column transpose."""
    S = words
    tiles = wl.size("tiles")

    @wl.sketch(
        spec=store_spec(S),
        block=LANES * warps,
        grid=wl.ceil_div(tiles, warps),
        complete_at={"tiles": warps},
        name=f"aos_store_crc_{S}_{dtype}",
    )
    def kernel(src: wl.Global[dtype, 32 * S * tiles], dst: wl.Global[dtype, 32 * S * tiles]):
        lane = wl.lane_id()
        first = 32 * S * (wl.global_id() // 32)
        loaded = wl.register(dtype, S)
        columns = wl.register(dtype, S)
        rows = wl.register(dtype, S)
        out = wl.register(dtype, S)
        wl.global_to_register(src, loaded, offset=first)
        for i in range(S):
            columns[i] = loaded[wl.xform(i, S, lane, name="column")]
        for i in range(S):
            rows[i] = wl.shfl(columns[i], wl.xform(lane, 32, i, name="row"))
        for i in range(S):
            out[i] = rows[wl.xform(i, S, lane, name="column_after")]
        wl.register_to_global(out, dst, offset=first)

    return kernel


def store_rcr(words: int, dtype: DType = i32, warps: int = 1) -> wl.Sketch:
    """Permute lanes while loading, registers inside each lane, lanes while storing: no shuffle instruction."""
    S = words
    tiles = wl.size("tiles")

    @wl.sketch(
        spec=store_spec(S),
        block=LANES * warps,
        grid=wl.ceil_div(tiles, warps),
        complete_at={"tiles": warps},
        name=f"aos_store_rcr_{S}_{dtype}",
    )
    def kernel(src: wl.Global[dtype, 32 * S * tiles], dst: wl.Global[dtype, 32 * S * tiles]):
        lane = wl.lane_id()
        first = 32 * S * (wl.global_id() // 32)
        loaded = wl.register(dtype, S)
        out = wl.register(dtype, S)
        wl.global_to_register(src, loaded, offset=first, shuffle=lambda lane, round: wl.xform(lane, 32, round, name="load"))
        for i in range(S):
            out[i] = loaded[wl.xform(i, S, lane, name="column")]
        wl.register_to_global(out, dst, offset=first, shuffle=lambda lane, round: wl.xform(lane, 32, round, name="store"))

    return kernel


def store_shared(words: int, dtype: DType = i32, warps: int = 1) -> wl.Sketch:
    """Coalesced into shared memory, structures read from there, coalesced out."""
    S, WARPS = words, warps
    tiles = wl.size("tiles")

    @wl.device
    def put(dst, first, tile, structure):
        """Stores the structures of a warp, of which `structure` is the first."""
        lane = wl.lane_id()
        for j in range(S):
            dst[first + S * structure + 32 * j + lane] = tile[S * (structure + lane) + j]

    @wl.sketch(
        spec=store_spec(S),
        block=LANES * warps,
        grid=wl.ceil_div(tiles, warps),
        complete_at={"tiles": warps},
        name=f"aos_store_shared_{S}_{dtype}",
    )
    def kernel(src: wl.Global[dtype, 32 * S * tiles], dst: wl.Global[dtype, 32 * S * tiles]):
        first = 32 * S * WARPS * wl.block_id()
        tile = wl.shared(dtype, 32 * S * WARPS)
        wl.global_to_shared(src, tile, offset=first)
        wl.sync()
        if WARPS == 1:
            put(dst, first, tile, 0)
        elif WARPS * wl.block_id() + wl.warp_id() < tiles:
            put(dst, first, tile, 32 * wl.warp_id())

    return kernel


def sum_spec(words: int, components: int):
    """total[t] = sum of all scalars of structure t."""
    S = words

    def scalars(src, total, tiles):
        for t in range(32 * tiles):
            for j in range(S):
                total[t] += src[S * t + j]

    def pairs(src, total, tiles):
        for t in range(32 * tiles):
            for j in range(S):
                total[t] += src[S * t + j].x
                total[t] += src[S * t + j].y

    def quads(src, total, tiles):
        for t in range(32 * tiles):
            for j in range(S):
                total[t] += src[S * t + j].x
                total[t] += src[S * t + j].y
                total[t] += src[S * t + j].z
                total[t] += src[S * t + j].w

    return {1: scalars, 2: pairs, 4: quads}[components]


@wl.device
def add_scalar(out, unit):
    out.add(unit)


@wl.device
def add_two(out, unit):
    out.add(unit.x)
    out.add(unit.y)


@wl.device
def add_four(out, unit):
    out.add(unit.x)
    out.add(unit.y)
    out.add(unit.z)
    out.add(unit.w)


ADD_COMPONENTS = {1: add_scalar, 2: add_two, 4: add_four}


def sum_crc(words: int, dtype: DType = i32, warps: int = 1) -> wl.Sketch:
    """Sums each structure: load, permute registers, shuffle lanes; the order of a structure's words does not matter."""
    S, SCALAR = words, scalar_of(dtype)
    add_components = ADD_COMPONENTS[dtype.lanes]
    tiles = wl.size("tiles")

    @wl.sketch(
        spec=sum_spec(S, dtype.lanes),
        block=LANES * warps,
        grid=wl.ceil_div(tiles, warps),
        complete_at={"tiles": warps},
        name=f"aos_sum_crc_{S}_{dtype}",
    )
    def kernel(src: wl.Global[dtype, 32 * S * tiles], total: wl.Global[SCALAR, 32 * tiles]):
        lane = wl.lane_id()
        tile = wl.global_id() // 32
        loaded = wl.register(dtype, S)
        columns = wl.register(dtype, S)
        wl.global_to_register(src, loaded, offset=32 * S * tile)
        for i in range(S):
            columns[i] = loaded[wl.xform(i, S, lane, name="column")]
        out = wl.accumulator(SCALAR, op="+")
        for i in range(S):
            got = wl.shfl(columns[i], wl.xform(lane, 32, i, name="row"))
            add_components(out, got)
        if tile < tiles:
            total[32 * tile + lane] = out.value()

    return kernel


def sum_shared(words: int, dtype: DType = i32, warps: int = 1) -> wl.Sketch:
    """Sums each structure from a tile in shared memory."""
    S, SCALAR, WARPS = words, scalar_of(dtype), warps
    add_components = ADD_COMPONENTS[dtype.lanes]
    tiles = wl.size("tiles")

    @wl.sketch(
        spec=sum_spec(S, dtype.lanes),
        block=LANES * warps,
        grid=wl.ceil_div(tiles, warps),
        complete_at={"tiles": warps},
        name=f"aos_sum_shared_{S}_{dtype}",
    )
    def kernel(src: wl.Global[dtype, 32 * S * tiles], total: wl.Global[SCALAR, 32 * tiles]):
        t = wl.lane_id() if WARPS == 1 else wl.thread_id()
        tile = wl.shared(dtype, 32 * S * WARPS)
        wl.global_to_shared(src, tile, offset=32 * S * WARPS * wl.block_id())
        wl.sync()
        out = wl.accumulator(SCALAR, op="+")
        for j in range(S):
            word = tile[S * t + j]
            add_components(out, word)
        if WARPS == 1:
            total[32 * wl.block_id() + t] = out.value()
        elif wl.global_id() < 32 * tiles:
            total[wl.global_id()] = out.value()

    return kernel
