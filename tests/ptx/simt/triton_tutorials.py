"""Kernels of the kinds that Triton's tutorials teach, written anew; import only with Triton.

Elements that NumPy has no type for come as words of their width, whose pointers the kernels cast.
"""

# pyright: basic
import triton
import triton.language as tl
from triton.language.extra import libdevice
from triton.language.extra.cuda import gdc_launch_dependents, gdc_wait


@triton.jit
def vector_sum(x, y, out, n, SIZE: tl.constexpr, DEPENDENT: tl.constexpr):
    """Tutorials 1 and 11: with DEPENDENT, as a launch that begins before the one before it has ended."""
    places = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    if DEPENDENT:
        gdc_wait()
    total = tl.load(x + places, mask=places < n) + tl.load(y + places, mask=places < n)
    if DEPENDENT:
        gdc_launch_dependents()
    tl.store(out + places, total, mask=places < n)


@triton.jit
def rows_softmax(out, x, apart, rows, columns, SIZE: tl.constexpr, STAGES: tl.constexpr):
    """Tutorial 2: programs that take every so-manyth row."""
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0), num_stages=STAGES):
        places = tl.arange(0, SIZE)
        line = tl.load(x + row * apart + places, mask=places < columns, other=-float("inf"))
        powers = tl.exp(line - tl.max(line, 0))
        tl.store(out + row * apart + places, powers / tl.sum(powers, 0), mask=places < columns)


@triton.jit
def leaky(x):
    return tl.where(x >= 0, x, 0.01 * x)


@triton.jit
def product(
    a, b, c, m, n, k, KIND: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, GROUP: tl.constexpr,
    ACTIVATION: tl.constexpr,
):  # fmt: skip
    """Tutorial 3: groups of rows of tiles, masks along k, a function of the result."""
    a, b = a.to(tl.pointer_type(KIND)), b.to(tl.pointer_type(KIND))
    program = tl.program_id(0)
    down, across = tl.cdiv(m, M), tl.cdiv(n, N)
    group = program // (GROUP * across)
    first = group * GROUP
    high = min(down - first, GROUP)
    row, column = first + program % (GROUP * across) % high, program % (GROUP * across) // high
    rows = (row * M + tl.arange(0, M)) % m
    columns = (column * N + tl.arange(0, N)) % n
    inner = tl.arange(0, K)
    total = tl.zeros((M, N), dtype=tl.float32)
    for step in range(tl.cdiv(k, K)):
        left = tl.load(a + rows[:, None] * k + (step * K + inner)[None, :], mask=inner[None, :] < k - step * K, other=0.0)
        right = tl.load(b + (step * K + inner)[:, None] * n + columns[None, :], mask=inner[:, None] < k - step * K, other=0.0)
        total = tl.dot(left, right, total)
    if ACTIVATION:
        total = leaky(total)
    rows, columns = row * M + tl.arange(0, M), column * N + tl.arange(0, N)
    tl.store(c + rows[:, None] * n + columns[None, :], total, mask=(rows[:, None] < m) & (columns[None, :] < n))


@triton.jit
def dropped(x, out, n, p, seed, SIZE: tl.constexpr):
    """Tutorial 4."""
    places = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    value = tl.load(x + places, mask=places < n)
    keep = tl.rand(seed, places) > p
    tl.store(out + places, tl.where(keep, value / (1 - p), 0.0), mask=places < n)


@triton.jit
def norm_forward(x, y, w, b, mean, rstd, apart, n, eps, SIZE: tl.constexpr):
    """Tutorial 5."""
    row = tl.program_id(0)
    total = tl.zeros([SIZE], dtype=tl.float32)
    for start in range(0, n, SIZE):
        places = start + tl.arange(0, SIZE)
        total += tl.load(x + row * apart + places, mask=places < n, other=0.0)
    middle = tl.sum(total, 0) / n
    total = tl.zeros([SIZE], dtype=tl.float32)
    for start in range(0, n, SIZE):
        places = start + tl.arange(0, SIZE)
        apart_from = tl.where(places < n, tl.load(x + row * apart + places, mask=places < n, other=0.0) - middle, 0.0)
        total += apart_from * apart_from
    scale = 1 / tl.sqrt(tl.sum(total, 0) / n + eps)
    tl.store(mean + row, middle)
    tl.store(rstd + row, scale)
    for start in range(0, n, SIZE):
        places = start + tl.arange(0, SIZE)
        mask = places < n
        value = (tl.load(x + row * apart + places, mask=mask, other=0.0) - middle) * scale
        tl.store(y + row * apart + places, value * tl.load(w + places, mask=mask) + tl.load(b + places, mask=mask), mask=mask)


@triton.jit
def norm_backward(dx, dy, dw, db, x, w, mean, rstd, lock, apart, n, GROUP: tl.constexpr, SIZE: tl.constexpr):
    """Tutorial 5: sums of weights under locks."""
    row = tl.program_id(0)
    places = tl.arange(0, SIZE)
    mask = places < n
    given = tl.load(dy + row * apart + places, mask=mask, other=0.0)
    value = tl.load(x + row * apart + places, mask=mask, other=0.0)
    scale = tl.load(rstd + row)
    normal = tl.where(mask, (value - tl.load(mean + row)) * scale, 0.0)
    weighted = tl.where(mask, tl.load(w + places, mask=mask, other=0.0) * given, 0.0)
    first, second = tl.sum(normal * weighted, 0) / n, tl.sum(weighted, 0) / n
    tl.store(dx + row * apart + places, (weighted - (normal * first + second)) * scale, mask=mask)
    own = row % GROUP
    count = lock + GROUP + own
    while tl.atomic_cas(lock + own, 0, 1) == 1:
        pass
    of_weight, of_bias = given * normal, given
    if tl.load(count) == 0:
        tl.atomic_xchg(count, 1)
    else:
        of_weight += tl.load(dw + own * n + places, mask=mask)
        of_bias += tl.load(db + own * n + places, mask=mask)
    tl.store(dw + own * n + places, of_weight, mask=mask)
    tl.store(db + own * n + places, of_bias, mask=mask)
    tl.debug_barrier()
    tl.atomic_xchg(lock + own, 0)


@triton.jit
def arc_sine(x, out, n, SIZE: tl.constexpr):
    """Tutorial 7."""
    places = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    tl.store(out + places, libdevice.asin(tl.load(x + places, mask=places < n)), mask=places < n)


@triton.jit
def attention_part(
    total, weight, biggest, query, keys, values, base, start, scale, first, last, M: tl.constexpr, N: tl.constexpr,
    D: tl.constexpr, MASKED: tl.constexpr, KIND: tl.constexpr, SPECIAL: tl.constexpr,
):  # fmt: skip
    rows, columns = start * M + tl.arange(0, M), tl.arange(0, N)
    for at in tl.range(first, last, N, warp_specialize=SPECIAL):
        at = tl.multiple_of(at, N)
        scores = tl.dot(query, keys.load([base + at, 0]).T) * scale
        if MASKED:
            scores += tl.where(rows[:, None] >= (at + columns)[None, :], 0, -1.0e6)
        new = tl.maximum(biggest, tl.max(scores, 1))
        powers = tl.math.exp2(scores - new[:, None])
        share = tl.math.exp2(biggest - new)
        weight = weight * share + tl.sum(powers, 1)
        total = total * share[:, None]
        if tl.float8e5 == KIND or tl.float8e4nv == KIND:
            held = values.load([0, base + at]).T
        else:
            held = values.load([base + at, 0])
        total = tl.dot(powers.to(KIND), held, total)
        biggest = new
    return total, weight, biggest


@triton.jit
def attention_forward(
    q, k, v, o, sums, heads, n, scale, KIND: tl.constexpr, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr,
    CAUSAL: tl.constexpr, SPECIAL: tl.constexpr,
):  # fmt: skip
    """Tutorial 6: whole tiles below the diagonal, then those on it; descriptors made in the kernel."""
    start, head = tl.program_id(0), tl.program_id(1)
    all_rows = heads * n
    kind = tl.pointer_type(KIND)
    queries = tl.make_tensor_descriptor(q.to(kind), [all_rows, D], [D, 1], [M, D])
    keys = tl.make_tensor_descriptor(k.to(kind), [all_rows, D], [D, 1], [N, D])
    if tl.float8e5 == KIND or tl.float8e4nv == KIND:
        values = tl.make_tensor_descriptor(v.to(kind), [D, all_rows], [all_rows, 1], [D, N])
    else:
        values = tl.make_tensor_descriptor(v.to(kind), [all_rows, D], [D, 1], [N, D])
    out = tl.make_tensor_descriptor(o, [all_rows, D], [D, 1], [M, D])
    base = head * n
    biggest = tl.zeros([M], dtype=tl.float32) - float("inf")
    weight = tl.zeros([M], dtype=tl.float32) + 1.0
    total = tl.zeros([M, D], dtype=tl.float32)
    query = queries.load([base + start * M, 0])
    if CAUSAL:
        total, weight, biggest = attention_part(
            total, weight, biggest, query, keys, values, base, start, scale, 0, start * M, M, N, D, False, KIND, SPECIAL
        )
        total, weight, biggest = attention_part(
            total, weight, biggest, query, keys, values, base, start, scale, start * M, (start + 1) * M, M, N, D, True, KIND,
            SPECIAL,
        )  # fmt: skip
    else:
        total, weight, biggest = attention_part(
            total, weight, biggest, query, keys, values, base, start, scale, 0, n, M, N, D, False, KIND, SPECIAL
        )
    tl.store(sums + head * n + start * M + tl.arange(0, M), biggest + tl.math.log2(weight))
    out.store([base + start * M, 0], (total / weight[:, None]).to(tl.float16))


@triton.jit
def attention_deltas(o, do, delta, n, M: tl.constexpr, D: tl.constexpr):
    """Tutorial 6, before the backward pass."""
    rows = tl.program_id(1) * n + tl.program_id(0) * M + tl.arange(0, M)
    places = rows[:, None] * D + tl.arange(0, D)[None, :]
    tl.store(delta + rows, tl.sum(tl.load(o + places).to(tl.float32) * tl.load(do + places).to(tl.float32), 1))


@triton.jit
def attention_backward(
    q, k, v, do, dq, dk, dv, sums, delta, n, scale, N: tl.constexpr, STEP: tl.constexpr, D: tl.constexpr, CAUSAL: tl.constexpr
):
    """Tutorial 6: gradients of keys and values of a tile of columns, then of queries of a tile of rows."""
    base = tl.program_id(1) * n
    q, k, v, do = q + base * D, k + base * D, v + base * D, do + base * D
    dq, dk, dv, sums, delta = dq + base * D, dk + base * D, dv + base * D, sums + base, delta + base
    inner = tl.arange(0, D)
    own = tl.program_id(0) * N + tl.arange(0, N)
    keys = tl.load(k + own[:, None] * D + inner[None, :])
    held = tl.load(v + own[:, None] * D + inner[None, :])
    of_keys, of_values = tl.zeros([N, D], dtype=tl.float32), tl.zeros([N, D], dtype=tl.float32)
    begin = tl.program_id(0) * N if CAUSAL else 0
    for at in range(begin, n, STEP):
        rows = at + tl.arange(0, STEP)
        turned = tl.load(q + rows[None, :] * D + inner[:, None])
        powers = tl.math.exp2(tl.dot(keys, turned) * scale * 1.44269504 - tl.load(sums + rows)[None, :])
        if CAUSAL:
            powers = tl.where(rows[None, :] >= own[:, None], powers, 0.0)
        given = tl.load(do + rows[:, None] * D + inner[None, :])
        of_values += tl.dot(powers.to(tl.float16), given)
        changes = powers * (tl.dot(held, tl.trans(given)) - tl.load(delta + rows)[None, :])
        of_keys += tl.dot(changes.to(tl.float16), tl.trans(turned))
    tl.store(dv + own[:, None] * D + inner[None, :], of_values)
    tl.store(dk + own[:, None] * D + inner[None, :], of_keys * scale)
    query = tl.load(q + own[:, None] * D + inner[None, :])
    given = tl.load(do + own[:, None] * D + inner[None, :])
    of_queries = tl.zeros([N, D], dtype=tl.float32)
    least, mean = tl.load(sums + own)[:, None], tl.load(delta + own)[:, None]
    end = (tl.program_id(0) + 1) * N if CAUSAL else n
    for at in range(0, end, STEP):
        columns = at + tl.arange(0, STEP)
        turned = tl.load(k + columns[None, :] * D + inner[:, None])
        powers = tl.math.exp2(tl.dot(query, turned) * scale * 1.44269504 - least)
        if CAUSAL:
            powers = tl.where(own[:, None] >= columns[None, :], powers, 0.0)
        changes = powers * (tl.dot(given, tl.load(v + columns[None, :] * D + inner[:, None])) - mean)
        of_queries += tl.dot(changes.to(tl.float16), tl.trans(turned))
    tl.store(dq + own[:, None] * D + inner[None, :], of_queries * scale)


@triton.jit
def grouped_products(left, right, out, places, sizes, count, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """Tutorial 8: several products by programs that take every so-manyth tile; their places are in an array."""
    tile, done = tl.program_id(0), 0
    for one in range(count):
        m, n, k = tl.load(sizes + 3 * one), tl.load(sizes + 3 * one + 1), tl.load(sizes + 3 * one + 2)
        across = tl.cdiv(n, N)
        tiles = tl.cdiv(m, M) * across
        while tile >= done and tile < done + tiles:
            a = left + tl.load(places + 3 * one)
            b = right + tl.load(places + 3 * one + 1)
            c = out + tl.load(places + 3 * one + 2)
            row, column = (tile - done) // across, (tile - done) % across
            rows, columns, inner = row * M + tl.arange(0, M), column * N + tl.arange(0, N), tl.arange(0, K)
            total = tl.zeros((M, N), dtype=tl.float32)
            for step in range(tl.cdiv(k, K)):
                lower = tl.load(a + rows[:, None] * k + (step * K + inner)[None, :])
                upper = tl.load(b + (step * K + inner)[:, None] * n + columns[None, :])
                total += tl.dot(lower, upper)
            tl.store(c + rows[:, None] * n + columns[None, :], total.to(tl.float16))
            tile += tl.num_programs(0)
        done += tiles


@triton.jit
def persistent_product(
    a, b, c, m, n, k, KIND: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, GROUP: tl.constexpr,
    PARTS: tl.constexpr, SPECIAL: tl.constexpr, FLAT: tl.constexpr,
):  # fmt: skip
    """Tutorial 9: descriptors made in the kernel, the loop over tiles around that over k; PARTS halves of the result in turn."""
    left = tl.make_tensor_descriptor(a.to(tl.pointer_type(KIND)), [m, k], [k, 1], [M, K])
    right = tl.make_tensor_descriptor(b.to(tl.pointer_type(KIND)), [n, k], [k, 1], [N, K])
    out = tl.make_tensor_descriptor(c, [m, n], [n, 1], [M, N // PARTS])
    down, across, steps = tl.cdiv(m, M), tl.cdiv(n, N), tl.cdiv(k, K)
    for tile in tl.range(tl.program_id(0), down * across, tl.num_programs(0), flatten=FLAT, warp_specialize=SPECIAL):
        group = tile // (GROUP * across)
        first = group * GROUP
        high = min(down - first, GROUP)
        row, column = (first + tile % high) * M, tile % (GROUP * across) // high * N
        total = tl.zeros((M, N), dtype=tl.float32)
        for step in range(steps):
            total = tl.dot(left.load([row, step * K]), right.load([column, step * K]).T, total)
        if PARTS == 1:
            out.store([row, column], total.to(tl.float16))
        else:
            halves = tl.permute(tl.reshape(total, (M, 2, N // 2)), (0, 2, 1))
            low, high_half = tl.split(halves)
            out.store([row, column], low.to(tl.float16))
            out.store([row, column + N // 2], high_half.to(tl.float16))


@triton.jit
def persistent_described(left, right, out, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, SPECIAL: tl.constexpr):
    """Tutorial 9 with descriptors of the host."""
    across, steps = tl.cdiv(n, N), tl.cdiv(k, K)
    for tile in tl.range(tl.program_id(0), tl.cdiv(m, M) * across, tl.num_programs(0), warp_specialize=SPECIAL):
        row, column = tile // across * M, tile % across * N
        total = tl.zeros((M, N), dtype=tl.float32)
        for step in range(steps):
            total = tl.dot(left.load([row, step * K]), right.load([column, step * K]).T, total)
        out.store([row, column], total.to(tl.float16))


@triton.jit
def scaled_product(
    a, a_scale, b, b_scale, c, m, n, k, A_KIND: tl.constexpr, B_KIND: tl.constexpr, A_PACK: tl.constexpr, B_PACK: tl.constexpr,
    VECTOR: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, SCALE_KIND: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    """Tutorial 10: scales of 128 rows by 4 as 32 by 4 by 4, as the matrix unit wants them; elements of B lie along k."""
    row, column = tl.program_id(0), tl.program_id(1)
    a_scale, b_scale = a_scale.to(tl.pointer_type(SCALE_KIND)), b_scale.to(tl.pointer_type(SCALE_KIND))
    rows, columns = row * M + tl.arange(0, M), column * N + tl.arange(0, N)
    a_inner, b_inner = tl.arange(0, K // A_PACK), tl.arange(0, K // B_PACK)
    DEEP: tl.constexpr = K // VECTOR
    scales = tl.arange(0, DEEP)
    total = tl.zeros((M, N), dtype=tl.float32)
    for step in tl.range(0, tl.cdiv(k, K), num_stages=STAGES):
        left = tl.load(a + rows[:, None] * (k // A_PACK) + (step * (K // A_PACK) + a_inner)[None, :])
        right = tl.load(b + columns[:, None] * (k // B_PACK) + (step * (K // B_PACK) + b_inner)[None, :])
        of_left = tl.load(a_scale + rows[:, None] * (k // VECTOR) + (step * DEEP + scales)[None, :])
        of_right = tl.load(b_scale + columns[:, None] * (k // VECTOR) + (step * DEEP + scales)[None, :])
        total = tl.dot_scaled(left, of_left, A_KIND, right.T, of_right, B_KIND, total)
    tl.store(c + rows[:, None] * n + columns[None, :], total)


@triton.jit
def scaled_described(
    a, a_scale, b, b_scale, c, k, A_KIND: tl.constexpr, B_KIND: tl.constexpr, A_PACK: tl.constexpr, B_PACK: tl.constexpr,
    VECTOR: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    """Tutorial 10 with descriptors: scales lie as 32 by 16 bytes for 128 rows and 4 groups along k."""
    row, column = tl.program_id(0), tl.program_id(1)
    DEEP: tl.constexpr = K // VECTOR // 4
    total = tl.zeros((M, N), dtype=tl.float32)
    for step in tl.range(0, k // K, num_stages=STAGES):
        left = a.load([row * M, step * (K // A_PACK)])
        right = b.load([column * N, step * (K // B_PACK)])
        of_left = a_scale.load([0, row * (M // 128), step * DEEP, 0, 0])
        of_right = b_scale.load([0, column * (N // 128), step * DEEP, 0, 0])
        of_left = of_left.reshape(M // 128, DEEP, 32, 4, 4).trans(0, 3, 2, 1, 4).reshape(M, DEEP * 4)
        of_right = of_right.reshape(N // 128, DEEP, 32, 4, 4).trans(0, 3, 2, 1, 4).reshape(N, DEEP * 4)
        if VECTOR == 16:
            of_left, of_right = of_left.to(tl.float8e4nv, bitcast=True), of_right.to(tl.float8e4nv, bitcast=True)
        total = tl.dot_scaled(left, of_left, A_KIND, right.T, of_right, B_KIND, total)
    c.store([row * M, column * N], total)


@triton.jit
def gathered_rows(x, rows, out, n, SIZE: tl.constexpr, N: tl.constexpr):
    """Rows of a tensor by their numbers, through a descriptor, and back to the rows in turn."""
    numbers = tl.load(rows + tl.arange(0, SIZE))
    data = tl.make_tensor_descriptor(x, [n, N], [N, 1], [1, N])
    to = tl.make_tensor_descriptor(out, [n, N], [N, 1], [1, N])
    to.scatter(data.gather(numbers, 0) + 1, numbers, 0)
