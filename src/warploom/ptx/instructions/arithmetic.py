"""Rows for arithmetic, comparison, logic and video: PTX ISA 9.7.1 to 9.7.8 and 9.7.18."""

from __future__ import annotations

from warploom.ptx.instructions.rows import FLOAT, HALF, INTEGER, Row, row

_THREE = "d:1 a:1 a:1"
_TWO = "d:1 a:1"
_FOUR = "d:1 a:1 a:1 a:1"
_WIDE = "d:w a:1 a:1"
_WIDE_ADD = "d:w a:1 a:1 a:w"

INTEGER_ROWS: tuple[Row, ...] = (
    row("add", "9.7.1.1", "integer", _THREE, of=INTEGER),
    row("sub", "9.7.1.2", "integer", _THREE, of=INTEGER),
    row("mul", "9.7.1.3", "integer", _WIDE, of=INTEGER),
    row("mad", "9.7.1.4", "integer", _WIDE_ADD, of=INTEGER),
    row("mul24", "9.7.1.5", "integer", _THREE),
    row("mad24", "9.7.1.6", "integer", _FOUR),
    row("sad", "9.7.1.7", "integer", _FOUR),
    row("div", "9.7.1.8", "integer", _THREE, of=INTEGER),
    row("rem", "9.7.1.9", "integer", _THREE),
    row("abs", "9.7.1.10", "integer", _TWO, of=INTEGER),
    row("neg", "9.7.1.11", "integer", _TWO, of=INTEGER),
    row("min", "9.7.1.12", "integer", _THREE, of=INTEGER),
    row("max", "9.7.1.13", "integer", _THREE, of=INTEGER),
    row("popc", "9.7.1.14", "integer", "d:u32 a:1", ptx=(2, 0), sm=20),
    row("clz", "9.7.1.15", "integer", "d:u32 a:1", ptx=(2, 0), sm=20),
    row("bfind", "9.7.1.16", "integer", "d:u32 a:1", ptx=(2, 0), sm=20),
    row("fns", "9.7.1.17", "integer", "d:b32 a:b32 a:b32 a:b32", ptx=(6, 0), sm=30),
    row("brev", "9.7.1.18", "integer", _TWO, ptx=(2, 0), sm=20),
    row("bfe", "9.7.1.19", "integer", "d:1 a:1 a:u32 a:u32", ptx=(2, 0), sm=20),
    row("bfi", "9.7.1.20", "integer", "d:1 a:1 a:1 a:u32 a:u32", ptx=(2, 0), sm=20),
    row("szext", "9.7.1.21", "integer", "d:1 a:1 a:b32", ptx=(7, 6), sm=70),
    row("bmsk", "9.7.1.22", "integer", "d:1 a:b32 a:b32", ptx=(7, 6), sm=70),
    row("dp4a", "9.7.1.23", "integer", "d:b32 a:b32 a:b32 a:b32", ptx=(5, 0), sm=61),
    row("dp2a", "9.7.1.24", "integer", "d:b32 a:b32 a:b32 a:b32", ptx=(5, 0), sm=61),
    row("add.cc", "9.7.2.1", "integer", _THREE, ptx=(1, 2)),
    row("addc", "9.7.2.2", "integer", _THREE, ptx=(1, 2)),
    row("sub.cc", "9.7.2.3", "integer", _THREE, ptx=(1, 2)),
    row("subc", "9.7.2.4", "integer", _THREE, ptx=(1, 2)),
    row("mad.cc", "9.7.2.5", "integer", _FOUR, ptx=(3, 0), sm=20),
    row("madc", "9.7.2.6", "integer", _FOUR, ptx=(3, 0), sm=20),
)

FLOAT_ROWS: tuple[Row, ...] = (
    row("testp", "9.7.3.1", "float", "d:p a:1", ptx=(2, 0), sm=20),
    row("copysign", "9.7.3.2", "float", _THREE, ptx=(2, 0), sm=20),
    row("add", "9.7.3.3", "float", _THREE, of=FLOAT),
    row("sub", "9.7.3.4", "float", _THREE, of=FLOAT),
    row("mul", "9.7.3.5", "float", _THREE, of=FLOAT),
    row("fma", "9.7.3.6", "float", _FOUR, of=FLOAT, ptx=(1, 4)),
    row("mad", "9.7.3.7", "float", _FOUR, of=FLOAT),
    row("div", "9.7.3.8", "float", _THREE, of=FLOAT),
    row("abs", "9.7.3.9", "float", _TWO, of=FLOAT),
    row("neg", "9.7.3.10", "float", _TWO, of=FLOAT),
    row("min", "9.7.3.11", "float", "d:1 a:1 a:1 a:1?", of=FLOAT),
    row("max", "9.7.3.12", "float", "d:1 a:1 a:1 a:1?", of=FLOAT),
    row("rcp", "9.7.3.13", "float", _TWO),
    row("sqrt", "9.7.3.15", "float", _TWO),
    row("rsqrt", "9.7.3.16", "float", _TWO),
    row("sin", "9.7.3.18", "float", _TWO),
    row("cos", "9.7.3.19", "float", _TWO),
    row("lg2", "9.7.3.20", "float", _TWO),
    row("ex2", "9.7.3.21", "float", _TWO, of=FLOAT),
    row("tanh", "9.7.3.22", "float", _TWO, of=FLOAT, ptx=(7, 0), sm=75),
    row("add", "9.7.4.1", "half", _THREE, of=HALF, ptx=(4, 2), sm=53),
    row("sub", "9.7.4.2", "half", _THREE, of=HALF, ptx=(4, 2), sm=53),
    row("mul", "9.7.4.3", "half", _THREE, of=HALF, ptx=(4, 2), sm=53),
    row("fma", "9.7.4.4", "half", _FOUR, of=HALF, ptx=(4, 2), sm=53),
    row("neg", "9.7.4.5", "half", _TWO, of=HALF, ptx=(6, 0), sm=53),
    row("abs", "9.7.4.6", "half", _TWO, of=HALF, ptx=(6, 5), sm=53),
    row("min", "9.7.4.7", "half", "d:1 a:1 a:1 a:1?", of=HALF, ptx=(7, 0), sm=80),
    row("max", "9.7.4.8", "half", "d:1 a:1 a:1 a:1?", of=HALF, ptx=(7, 0), sm=80),
    row("tanh", "9.7.4.9", "half", _TWO, of=HALF, ptx=(7, 0), sm=75),
    row("ex2", "9.7.4.10", "half", _TWO, of=HALF, ptx=(7, 0), sm=75),
    *(
        row(f"{name}.{wide}.{narrow}", f"9.7.5.{number}", "half", signature, ptx=(8, 6), sm=100)
        for name, number, signature in (("add", 1, "d:1 a:2 a:1"), ("sub", 2, "d:1 a:2 a:1"), ("fma", 3, "d:1 a:2 a:2 a:1"))
        for wide in ("f32",)
        for narrow in ("f16", "bf16")
    ),
)

LOGIC_ROWS: tuple[Row, ...] = (
    row("set", "9.7.6.1", "compare", "d:1 a:2 a:2 a:p?"),
    row("setp", "9.7.6.2", "compare", "d:p a:1 a:1 a:p?"),
    row("selp", "9.7.6.3", "compare", "d:1 a:1 a:1 a:p"),
    row("slct", "9.7.6.4", "compare", "d:1 a:1 a:1 a:2"),
    *(row("set", "9.7.7.1", "compare", "d a a a:p?", of=frozenset({t}), ptx=(4, 2), sm=53, title=f"set ({t})")
      for t in ("f16", "f16x2", "bf16", "bf16x2")),
    *(row("setp", "9.7.7.2", "compare", "d:p a:1 a:1 a:p?", of=frozenset({t}), ptx=(4, 2), sm=53, title=f"setp ({t})")
      for t in ("f16", "f16x2", "bf16", "bf16x2")),
    row("and", "9.7.8.1", "logic", _THREE),
    row("or", "9.7.8.2", "logic", _THREE),
    row("xor", "9.7.8.3", "logic", _THREE),
    row("not", "9.7.8.4", "logic", _TWO),
    row("cnot", "9.7.8.5", "logic", _TWO),
    row("lop3", "9.7.8.6", "logic", "d a:b32 a:b32 a:b32 i a:p?", ptx=(4, 3), sm=50),
    row("shf", "9.7.8.7", "logic", "d:b32 a:b32 a:b32 a:b32", ptx=(3, 1), sm=32),
    row("shl", "9.7.8.8", "logic", "d:1 a:1 a:u32"),
    row("shr", "9.7.8.9", "logic", "d:1 a:1 a:u32"),
)  # fmt: skip

_SIMD_VIDEO = ("vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax", "vset")

VIDEO_ROWS: tuple[Row, ...] = (
    *(row(name, f"9.7.18.1.{number}", "video", "d a a a?", ptx=(2, 0), sm=20)
      for name, number in (("vadd", 1), ("vsub", 1), ("vabsdiff", 1), ("vmin", 1), ("vmax", 1), ("vshl", 2), ("vshr", 2))),
    row("vmad", "9.7.18.1.3", "video", "d a a a", ptx=(2, 0), sm=20),
    row("vset", "9.7.18.1.4", "video", "d a a a?", ptx=(2, 0), sm=20),
    *(row(f"{name}{count}", "9.7.18.2", "video", "d:b32 a:b32 a:b32 a:b32", ptx=(3, 0), sm=30)
      for count in (2, 4) for name in _SIMD_VIDEO),
)  # fmt: skip
