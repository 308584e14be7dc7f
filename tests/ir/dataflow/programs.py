"""Texts of dataflow programs: the listings of the paper and benchmarks, written from their definitions."""

from __future__ import annotations

LISTING_2 = r"""
memory: [16] = [x0, ... x15]
input: [4, 4] = reshape(memory)
s1: [4, 4] = swizzle_row(\i, j. (j - i) % 4)(input)
s2: [4, 4] = swizzle_col(\i, j. (3i + j) % 4)(s1)
s3: [4, 4] = swizzle_row(\i, j. (j + i) % 4)(s2)
goal s3 == [[x0, x4, x8, x12], [x1, x5, x9, x13], [x2, x6, x10, x14], [x3, x7, x11, x15]]
"""
"""As printed but for parentheses (`j - i % 4` leaves the row) and the goal of listing 6, without its dots."""

LISTING_2_PRINTED = LISTING_2.replace("(j - i)", "j - i").replace("(3i + j)", "3i + j").replace("(j + i)", "j + i")
LISTING_2_PRINTED = LISTING_2_PRINTED.split("goal")[0] + "goal s3 == [[x0, x4, x8, x12], ...]\n"
"""As printed, with the goal of listing 6."""

LISTING_4 = r"""
x: [34] = [x0, ..., x33]
loaded: [32, 2] = load_trunc(x)
to_send: [32, 3] = select(\i, j. i >= j)(loaded)
received: [32, 3] = swizzle_col(\i, j. (i + j) % 32)(to_send)
out: [32] = fold(+) received
goal out == conv{k=3}
"""
"""As printed but for the last symbol (x34 would be the 35th of 34) and the modulus of the lanes, 32 and not 3."""

LISTING_6 = """
memory: [16] = [x0, ... x15]
input: [4, 4] = reshape(memory)
s1: [4, 4] = ?row_xforms(input)
s2: [4, 4] = ?col_xforms(s1)
s3: [4, 4] = ?row_xforms(s2)
goal s3 == [[x0, x4, x8, x12], [x1, x5, x9, x13], [x2, x6, x10, x14], [x3, x7, x11, x15]]
"""
"""With the tool's name of the hole set."""

LISTING_8 = (
    """
x: [34] = [x0, ..., x33] # U(x) = {x_0, ..., x_33}
loaded: [32, 2] = load_trunc(x)
to_send: [32, 3] = ?reg_select(loaded)
received: [32, 3] = ?col_xforms(to_send)
out: [32] = fold(+) received # U(out) = {x_0 + x_1 + x_2, ...}
goal out == fold(+) """
    + str([[i, i + 1, i + 2] for i in range(32)])
    + "\n"
)

TROVE_8X3 = """
x: [24] = range(0, 24)
loaded: [8, 3] = load_rep(x)
s1: [8, 3] = ?row_xforms_no_group(loaded)
s2: [8, 3] = ?row_rots_no_group(s1)
s3: [8, 3] = ?col_xforms_no_group(s2)
s4: [8, 3] = ?col_rots_no_group(s3)
s5: [8, 3] = ?row_xforms_no_group(s4)
s6: [8, 3] = ?row_rots_no_group(s5)
goal: [8, 3] trove
"""

STENCIL_1D = """
goal: [32] conv {k=3}
x: [34] = range(0, 34)
loaded: [32, 2] = load_trunc(x)
to_send: [32, 3] = ?reg_select_no_consts(loaded)
received_1: [32, 3] = ?col_xforms_no_group(to_send)
received: [32, 3] = ?col_rots_no_group(received_1)
out: [32] = fold ?cond_keep_no_consts{fold_len=3}(received)
"""

MULT_32_WITH_4 = """
block_a: [4, 4] = {
  a: [4] = range(0, 4)
  a: [4, 4] = broadcast(a)
  picked_1: [4, 4] = xforms_no_group{main=0,second=1,out=1}(a)
  picked: [4, 4] = rots_no_group{main=0,second=1,out=1}(picked_1)
}
block_b: [4, 4] = {
  b: [4] = range(4, 8)
  b: [4, 4] = broadcast(b)
  picked_1: [4, 4] = xforms_no_group{main=0,second=1,out=1}(b)
  picked: [4, 4] = rots_no_group{main=0,second=1,out=1}(picked_1)
}
combined: [4, 4] = fold stack{fold_len=2}(block_a, block_b)
two_accums: [4, 2, 4] = broadcast{group=1}(combined)
filtered_1: [4, 2, 4] = cond_keep_no_consts{restrict=[1, 0]}(two_accums)
filtered_2: [4, 2, 4] = cond_keep_no_consts{restrict=[1, 1]}(filtered_1)
sums: [4, 2, 4] = fold filtered_2
by_accum: [2, 4] = transpose(sums)
output: [8] = reshape(by_accum)
goal: [8] poly_mult {w=4}
"""

EVERY_FORM = r"""
@noprune
x: [2, 3] = [[0, 1, 2,], [-1, _, zero],]   # a comment
wide: [6] = x
y: [3] = range(10, 13)
define pick([2, 3], [3]) -> [2, 2] = {
  mixed = [[0, (1, 2)], [(1, (2,)), ((1, 1))]],
  "no source" = [[(2, 0), (-1, 5)], [-1, (0, (0, -1))]],
  lambda = \i, j. zero if i == j else (1, i + j) if not i > j or j != 0 else _,
  ternary = \i, j. i < 1 and j >= 0 ? [i, j] : 2i + j // 2 * 1 - -1 << 0,
}
z: [2, 2] = ?pick(x, y)
define pick([2, 3], [3]) -> [2, 2] = [0, 1, 2, 3]
z: [2, 2] = pick(x, y)
folded: [2] = fold(max) z
again: [2, 2] = fold(*) (stack{fold_len=2}(z, z))
plus: [2, 2] = + again
times: [1, 2] = * plus
@prune
block: [2] = {
  define local([2]) -> [2] = \i. 1 - i
  y: [2] = local(folded)
  inner: [2] = {
    out: [2] = y
  }
}
last: [2] = fold(&) stack{fold_len=2}(block, folded)
goal: [2] = fold(&) [[+{1, *{2, 3}}, fold(max){1}], [zero, 3]]
"""
