"""Swizzleflow's benchmarks as dataflow programs, at any size, and the same problems past the sizes where its authors stopped.

Levels: l1 ungrouped swizzles and conditions without constants; l2 conditions with constants; l3 grouped swizzles as well.
Source: Swizzleflow, section 5.1; the benchmark definitions that its authors published.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from math import ceil


@dataclass(frozen=True, slots=True)
class Level:
    swizzle: str
    """Suffix of swizzle sets."""
    condition: str
    """Suffix of condition sets."""


LEVELS: Mapping[str, Level] = {"l1": Level("_no_group", "_no_consts"), "l2": Level("_no_group", ""), "l3": Level("", "")}


def _moves(axis: str, shape: str, source: str, names: tuple[str, str], level: Level, options: str = "") -> list[str]:
    """A swizzle as the authors write it: a transformation, then a rotation."""
    prefix = f"{axis}_" if axis else ""
    return [
        f"{names[0]}: {shape} = ?{prefix}xforms{level.swizzle}{options}({source})",
        f"{names[1]}: {shape} = ?{prefix}rots{level.swizzle}{options}({names[0]})",
    ]


def trove(registers: int, order: str, level: Level, lanes: int = 32) -> str:
    """Transposition of registers x lanes by `crc` or `rcr` swizzles; rows and columns are named as the authors do."""
    shape = f"[{lanes}, {registers}]"
    lines = [f"x: [{lanes * registers}] = range(0, {lanes * registers})", f"loaded: {shape} = load_rep(x)"]
    source = "loaded"
    for step, letter in enumerate({"crc": "rcr", "rcr": "crc"}[order]):
        names = f"s{2 * step + 1}", f"s{2 * step + 2}"
        lines += _moves({"r": "row", "c": "col"}[letter], shape, source, names, level)
        source = names[1]
    return _text(*lines, f"goal: {shape} = trove")


def trove_sum(registers: int, level: Level, lanes: int = 32) -> str:
    shape = f"[{lanes}, {registers}]"
    return _text(
        f"x: [{lanes * registers}] = range(0, {lanes * registers})",
        f"loaded: {shape} = load_rep(x)",
        *_moves("row", shape, "loaded", ("s1", "s2"), level),
        *_moves("col", shape, "s2", ("s3", "s4"), level)[:1],
        f"s4: {shape} = fold ?col_rots{level.swizzle}(s3)",
        f"goal: [{lanes}] = trove_sum{{n={registers}}}",
    )


def _line(width: int, lanes: int, level: Level) -> list[str]:
    """Loads, selection and exchange of a one-dimensional window."""
    shape = f"[{lanes}, {width}]"
    symbols = lanes + width - 1
    copies = max(2, ceil(symbols / lanes))
    return [
        f"x: [{symbols}] = range(0, {symbols})",
        f"loaded: [{lanes}, {copies}] = load_trunc(x)",
        f"to_send: {shape} = ?reg_select{level.condition}(loaded)",
        *_moves("col", shape, "to_send", ("received_1", "received"), level),
    ]


def stencil1d(width: int, level: Level, lanes: int = 32) -> str:
    return _text(
        *_line(width, lanes, level),
        f"out: [{lanes}, {width}] = fold ?cond_keep{level.condition}(received)",
        f"goal: [{lanes}] = conv{{k={width}}}",
    )


def conv1d(width: int, level: Level, lanes: int = 32) -> str:
    symbols = lanes + width - 1
    return _text(
        *_line(width, lanes, level),
        f"weights: [{width}] = range({symbols}, {symbols + width})",
        f"w: [{lanes}, {width}] = broadcast(weights)",
        f"mult: [{lanes}, {width}, 2] = fold stack(received, w)",
        f"out: [{lanes}, {width}] = fold ?cond_keep{level.condition}(mult)",
        f"goal: [{lanes}] = weight_conv{{k={width}}}",
    )


def proper_conv(width: int, blocks: bool, lanes: int = 32) -> str:
    """A convolution whose weights are exchanged, too."""
    level = LEVELS["l1"]
    shape = f"[{lanes}, {width}]"
    symbols = lanes + width - 1
    x = _line(width, lanes, level)
    w = [
        f"weights: [{width}] = range({symbols}, {symbols + width})",
        f"w0: {shape} = broadcast(weights)",
        *_moves("row", shape, "w0", ("w1", "w2"), level),
    ]
    if blocks:
        lines = [f"received: {shape} = {{", *x, "}", f"w2: {shape} = {{", *w, "}"]
    else:
        lines = [*x, *w]
    return _text(
        *lines,
        f"mult: [{lanes}, {width}, 2] = fold stack(received, w2)",
        f"out: {shape} = fold ?cond_keep{level.condition}(mult)",
        f"goal: [{lanes}] = weight_conv{{k={width}}}",
    )


def stencil2d(width: int, level: Level, side: int = 4, constants: str = "") -> str:
    """A window of width x width over side x side lanes; each lane holds copies x copies pixels."""
    pixels = side + width - 1
    copies = max(2, ceil(pixels / side))
    consts = f", consts=[{constants}]" if constants and not level.condition else ""
    select = f"?general_select{level.condition}"
    x_shape, shape = f"[{side}, {side}, {width}, {copies}]", f"[{side}, {side}, {width}, {width}]"
    return _text(
        f"src: [{pixels}, {pixels}] = range(0, {pixels * pixels})",
        f"loaded: [{side}, {side}, {copies}, {copies}] = load_grid_2d(src)",
        f"to_send_x: {x_shape} = {select}{{axis=2, dims=[0, 2]{consts}}}(loaded)",
        *_moves("", x_shape, "to_send_x", ("received_x_1", "received_x"), level, "{main=0, second=2, out=0}"),
        f"to_send_y: {shape} = {select}{{axis=3, dims=[1, 3]{consts}}}(received_x)",
        *_moves("", shape, "to_send_y", ("received_y_1", "received_y"), level, "{main=1, second=3, out=1}"),
        f"out: [{side}, {side}, {width * width}] = fold reshape(received_y)",
        f"goal: [{side}, {side}] = stencil_2d{{k={width}}}",
    )


def mult32(level: Level, width: int = 4, unused: bool = False) -> str:
    """The product of two polynomials of `width` coefficients, one per lane; two accumulators per lane."""
    shape = f"[{width}, {width}]"
    lines: list[str] = []
    for name, start in (("a", 0), ("b", width)):
        moves = _moves("", shape, f"{name}0", (f"{name}1", f"{name}2"), level, "{main=0, second=1, out=1}")
        part = [f"{name}: [{width}] = range({start}, {start + width})", f"{name}0: {shape} = broadcast({name})", *moves]
        lines += part if unused else [f"{name}2: {shape} = {{", *part, "}"]
    if unused:
        lines += [f"useless: {shape} = ?rots_no_group{{main=0, second=1, out=0}}(a0)"]
    sums = f"[{width}, 2, {width}]"
    return _text(
        *lines,
        f"combined: [{width}, {width}, 2] = fold stack(a2, b2)",
        f"two_accums: {sums} = broadcast{{group=1}}(combined)",
        f"filtered_1: {sums} = ?cond_keep{level.condition}{{restrict=[1, 0]}}(two_accums)",
        f"filtered_2: {sums} = ?cond_keep{level.condition}{{restrict=[1, 1]}}(filtered_1)",
        f"sums: {sums} = fold filtered_2",
        f"by_accumulator: [2, {width}] = transpose(sums)",
        f"out: [{2 * width}] = reshape(by_accumulator)",
        f"goal: [{2 * width}] = poly_mult{{w={width}}}",
    )


def mult64(level: Level, shared: bool, width: int = 4) -> str:
    """The product of two polynomials of 2 * width coefficients; four products and four accumulators per lane and step."""
    n, w = 2 * width, width
    shape, pair, four = f"[{w}, {w}]", f"[{w}, {w}, 2]", f"[{w}, {w}, 4]"
    lines: list[str] = []
    for name, start in (("a", 0), ("b", n)):
        if shared:
            lines += [f"{name}_all: [{n}] = range({start}, {start + n})", f"{name}: [{w}, {n}] = broadcast({name}_all)"]
            for part in ("1", "2"):
                options = "{main=1, second=0, out=1}"
                lines += [
                    f"recv_{name}{part}_1: [{w}, {n}] = ?xforms_no_group{options}({name})",
                    f"recv_{name}{part}: {shape} = ?rots_no_group{options}(recv_{name}{part}_1)",
                ]
        else:
            for part in (0, 1):
                result = f"recv_{name}{part + 1}"
                moves = _moves("", shape, "spread", ("moved", "turned"), level, "{main=0, second=1, out=1}")
                first = start + part * w
                lines += [f"{result}: {shape} = {{", f"coeffs: [{w}] = range({first}, {first + w})"]
                lines += [f"spread: {shape} = broadcast(coeffs)", *moves, "}"]
        lines += [f"recv_{name}: {pair} = stack(recv_{name}1, recv_{name}2)"]
    lines += [
        f"as: {four} = gather(\\t, k, m. [t, k, m % 2])(recv_a)",
        f"bs: {four} = gather(\\t, k, m. [t, k, m // 2])(recv_b)",
        f"mult: [{w}, {w}, 4, 2] = fold stack(as, bs)",
        f"c0: [{w}, 4, {w}, 4] = broadcast{{group=1}}(mult)",
    ]
    for number in range(16):
        product, accumulator = divmod(number, 4)
        keep = f"?cond_keep{level.condition}{{restrict=[3, {product}, 1, {accumulator}]}}"
        lines.append(f"c{number + 1}: [{w}, 4, {w}, 4] = {keep}(c{number})")
    return _text(
        *lines,
        f"sums: [{w}, 4, {4 * w}] = fold reshape(c16)",
        f"by_accumulator: [4, {w}] = transpose(sums)",
        f"out: [{4 * w}] = reshape(by_accumulator)",
        f"goal: [{4 * w}] = poly_mult{{w={n}}}",
    )


def hvx_gaussian(blocks: bool, lanes: int = 8) -> str:
    """A filter of weights (18, 19, 18) over 2 * lanes pixels, even ones in one register and odd ones in another."""
    left, right = 18, 19
    base = right + 1 if lanes > 8 else 0
    odd = [base + 2 * lane + 1 for lane in range(lanes)]
    even = [base + 2 * lane + 2 for lane in range(lanes)]
    first, last = [-1] * (lanes - 1) + [base], [base + 2 * lanes + 1] + [-1] * (lanes - 1)
    lines = [f"init: [4, {lanes}] = {[odd, even, first, last]}", f"weights: [3] = [{left}, {right}, {left}]"]
    if blocks:
        lines.append(f"weight: [{lanes}, 3] = broadcast(weights)")
        for name in ("even", "odd"):
            lines.append(f"{name}: [{lanes}] = {{")
            lines += _appended(3, lanes)
            lines += [
                f"to_add: [{lanes}, 3] = gather(\\i, c. [4 + c, i])(o3)",
                f"products: [{lanes}, 3, 2] = fold stack(to_add, weight)",
                f"sum: [{lanes}, 3] = fold products",
                "}",
            ]
        lines.append(f"both: [{lanes}, 2] = stack(even, odd)")
    else:
        lines += [
            *_appended(6, lanes),
            f"weight: [{lanes}, 2, 3] = broadcast(weights)",
            f"to_add: [{lanes}, 2, 3] = gather(\\i, p, c. [4 + 3 * p + c, i])(o6)",
            f"products: [{lanes}, 2, 3, 2] = fold stack(to_add, weight)",
            f"both: [{lanes}, 2, 3] = fold products",
        ]
    wanted = [[[left, base + p], [right, base + p + 1], [left, base + p + 2]] for p in range(2 * lanes)]
    return _text(*lines, f"out: [{2 * lanes}] = reshape(both)", f"goal: [{2 * lanes}] = fold fold {wanted}")


def _appended(registers: int, lanes: int) -> list[str]:
    """Instructions on the first four registers, a new register each."""
    sources = ["init", *(f"o{k}" for k in range(1, registers))]
    return [f"o{k}: [{4 + k}, {lanes}] = ?hvx_2x1{{in_lim=4, fresh}}({source})" for k, source in enumerate(sources, 1)]


def universe_soundness() -> str:
    """Two literals with the same symbols; no hole."""
    return _text("a: [2] = [0, 1]", "b: [2] = [0, 1]", "both: [2, 2] = stack(a, b)", "goal: [2, 2] = [[0, 0], [1, 1]]")


def _text(*lines: str) -> str:
    return "\n".join(lines) + "\n"


def _programs() -> dict[str, Callable[[], str]]:
    """Every case of the authors' tables, by its name here."""
    made: dict[str, Callable[[], str]] = {
        "sf/trove-8x3": partial(trove, 3, "crc", LEVELS["l1"], lanes=8),
        "sf/hvx-gaussian": partial(hvx_gaussian, False),
        "sf/hvx-gaussian-blocks": partial(hvx_gaussian, True),
        "sf/proper-conv-32x3": partial(proper_conv, 3, True),
        "sf/proper-conv-32x3-noprune": partial(proper_conv, 3, False),
        "sf/useless-var-test": partial(mult32, LEVELS["l1"], unused=True),
        "sf/universe-soundness-test": universe_soundness,
        "sf/l1/mult-64-with-16-shared": partial(mult64, LEVELS["l1"], True),
    }
    for name, level in LEVELS.items():
        made[f"sf/{name}/1d-stencil"] = partial(stencil1d, 3, level)
        made[f"sf/{name}/1d-conv"] = partial(conv1d, 3, level)
        for width in (3, 5, 7, 9):
            constants = "0, 1, -1, 4, -4" if width > 5 else ""
            if width < 9 or name != "l1":
                made[f"sf/{name}/2d-stencil-{width}"] = partial(stencil2d, width, level, constants=constants)
        made[f"sf/{name}/mult-32-with-4"] = partial(mult32, level)
        made[f"sf/{name}/mult-64-with-16"] = partial(mult64, level, False)
        if name == "l2":
            continue
        for size in (1, 2, 3, 4, 5, 7, 9):
            if size < 9 or name == "l3":
                made[f"sf/{name}/trove-crc-{size}"] = partial(trove, size, "crc", level)
                made[f"sf/{name}/trove-rcr-{size}"] = partial(trove, size, "rcr", level)
        for size in (1, 2, 3, 4, 5, 7, 9, 11, 13):
            if size < 9 or name == "l3":
                made[f"sf/{name}/trove-cr_sum-{size}"] = partial(trove_sum, size, level)
    for width in (5, 7, 9, 11, 13):
        made[f"sf/l3/1d-conv-{width}"] = partial(conv1d, width, LEVELS["l3"])
    return made


PROGRAMS: dict[str, Callable[[], str]] = _programs()
