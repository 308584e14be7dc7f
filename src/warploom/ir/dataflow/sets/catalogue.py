"""Sets of gathers by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from math import prod

from warploom.core import Diagnostic, UnsupportedError, UserError
from warploom.ir.dataflow.gather_set import GatherSet, Shape
from warploom.ir.dataflow.sets import amd, avx2, fixed, hvx, of_holes, permutations, selects, swizzles
from warploom.ir.dataflow.sets.call import Call, Option, shape_text

MOST_SOURCES = 1 << 25
"""Elements times the longest axis: entries of the largest table of sources that is built."""


@dataclass(frozen=True, slots=True)
class Entry:
    build: Callable[[Call], GatherSet]
    line: str
    """One line that says what the set's members do."""
    is_fixed: bool = False
    """Exactly one member for given shapes."""


def _swizzles() -> dict[str, Entry]:
    entries: dict[str, Entry] = {}
    for prefix, axis in (
        ("", "axis out, by the positions on main and second"),
        ("row_", "the last index"),
        ("col_", "the first index"),
    ):
        for suffix, groups in (("", ", in groups"), ("_no_group", "")):
            entries[f"{prefix}xforms{suffix}"] = Entry(swizzles.xforms, f"fan and rotation of {axis}{groups}")
            entries[f"{prefix}rots{suffix}"] = Entry(swizzles.rots, f"rotation of {axis} by a constant{groups}")
    return entries


def _conditional() -> dict[str, Entry]:
    entries: dict[str, Entry] = {}
    for suffix, constants in (("", "conditions with constants"), ("_no_consts", "conditions without constants")):
        entries[f"reg_select{suffix}"] = Entry(selects.reg_select, f"one of the copies on the last axis, by {constants}")
        entries[f"general_select{suffix}"] = Entry(selects.general_select, f"one of the copies on an axis, by {constants}")
        entries[f"cond_keep{suffix}"] = Entry(selects.cond_keep, f"the element or 0, by {constants}")
    entries["select"] = Entry(selects.reg_select, "the same as reg_select, as Swizzleflow's listings write it")
    return entries


ENTRIES: Mapping[str, Entry] = {
    "id": Entry(fixed.reshape, "the same elements, row-major", is_fixed=True),
    "identity": Entry(fixed.reshape, "the same elements, row-major", is_fixed=True),
    "reshape": Entry(fixed.reshape, "the same elements, row-major", is_fixed=True),
    "transpose": Entry(fixed.transpose, "axes in reverse order", is_fixed=True),
    "stack": Entry(fixed.stack, "arguments along a new last axis", is_fixed=True),
    "rot_idx": Entry(fixed.rot_idx, "axes rotated right (r=n) or left (l=n)", is_fixed=True),
    "broadcast": Entry(fixed.broadcast, "new axes at position group, ignored", is_fixed=True),
    "load_rep": Entry(fixed.load, "column-major, again from the start past the end", is_fixed=True),
    "load_trunc": Entry(fixed.load, "column-major, undefined past the end", is_fixed=True),
    "load_grid_2d": Entry(fixed.load_grid_2d, "a grid of threads, several elements each", is_fixed=True),
    **_swizzles(),
    **_conditional(),
    "xform": Entry(of_holes.xform, "Swizzle Inventor's template on axis out"),
    "row": Entry(of_holes.swizzle, "Swizzle Inventor's template and compositions of two primitives on the last index"),
    "col": Entry(of_holes.swizzle, "Swizzle Inventor's template and compositions of two primitives on the first index"),
    "compose": Entry(of_holes.compose, "compositions of rot, fan, group, unit, xor and cm2linear on axis out"),
    "row_compose": Entry(of_holes.compose, "compositions of rot, fan, group, unit, xor and cm2linear on the last index"),
    "col_compose": Entry(of_holes.compose, "compositions of rot, fan, group, unit, xor and cm2linear on the first index"),
    "gpu_swizzle_row": Entry(of_holes.xform, "Swizzle Inventor's template on the last index, as Swizzleflow's listings write it"),
    "gpu_swizzle_col": Entry(
        of_holes.xform, "Swizzle Inventor's template on the first index, as Swizzleflow's listings write it"
    ),
    "grouped_perms": Entry(permutations.grouped_perms, "one order for all groups of neighbours"),
    "amd_swizzles_perm": Entry(permutations.amd_swizzles_perm, "grouped_perms and XOR of lane numbers"),
    "amd_dpp": Entry(amd.amd_dpp, "AMD data-parallel primitives: quads, rows and waves of lanes"),
    "amd_ds_swizzle": Entry(amd.amd_ds_swizzle, "AMD ds_swizzle: bits of lane numbers, quads"),
    "amd_bpermute": Entry(amd.amd_bpermute, "AMD ds_bpermute: every lane reads any lane"),
    "hvx_2x1": Entry(hvx.hvx_2x1, "HVX instructions with one result register"),
    "hvx": Entry(hvx.hvx_2x1, "the same; vmux by its name"),
    "hvx_2x2": Entry(hvx.hvx_2x2, "HVX instructions with two result registers"),
    "hvx_inplace": Entry(hvx.hvx_inplace, "HVX instructions with one or two results among the operands"),
    "avx2": Entry(avx2.avx2, "x86 AVX2 shuffles between registers"),
}
NAMES: Mapping[str, str] = {name: entry.line for name, entry in ENTRIES.items()}
"""Every set, with one line each."""


def gather_set(name: str, options: Mapping[str, Option], arguments: tuple[Shape, ...], out: Shape) -> GatherSet:
    """The set `name` from arguments of the given shapes to `out` (before any fold).

    Raises UserError (UNKNOWN_SET, BAD_OPTION, SHAPE_MISMATCH, TOO_LARGE) without a span.
    """
    if name not in ENTRIES:
        near = get_close_matches(name, ENTRIES, 1)
        fix = f"Write {near[0]}." if near else ""
        raise UserError(Diagnostic("UNKNOWN_SET", f"expected the name of a set of gathers, got {name!r}", fix=fix))
    entry = ENTRIES[name]
    if (
        not entry.is_fixed
        and prod(out) * max((length for shape in (out, *arguments) for length in shape), default=1) > MOST_SOURCES
    ):
        message = f"{name}: expected arrays with at most {MOST_SOURCES} pairs of an element and a position, got {shape_text(out)}"
        raise UnsupportedError(Diagnostic("TOO_LARGE", message, fix="Use fewer elements."))
    return entry.build(Call(name, options, arguments, out))
