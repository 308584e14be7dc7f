"""Vector forms of transcendental functions as C text; $V is the vector, $I its integers, other $NAMES are helpers. $LEAST and
$MOST give the second one where one is NaN, so that NaN stays.

Errors against the exact value, all f32 arguments: see tests/schedule/cpu/test_functions.py.
"""

from __future__ import annotations

from dataclasses import dataclass

_EXP = """/* 2^n * exp(r), r within log(2) / 2; overflows to infinity, underflows gradually, NaN stays. */
    x = $LEAST($SPLAT(89.0f), $MOST($SPLAT(-104.0f), x));
    const $V shifted = x * 1.44269504f + 12582912.0f;
    const $V whole = shifted - 12582912.0f;
    const $V r = (x - whole * 0.693359375f) - whole * -2.12194440e-4f;
    $V sum = r * 0.0013814558f + 0.008368736f;
    sum = sum * r + 0.04166839f;
    sum = sum * r + 0.16666521f;
    sum = sum * r + 0.49999994f;
    sum = sum * r + 1.0f;
    sum = sum * r + 1.0f;
    return $SCALE(sum, shifted);"""

_TANH = """/* Of |x|, with the sign of x, which -0 keeps: near zero a polynomial, elsewhere from exp(-2|x|). */
    const $V size = $ABS(x), square = x * x;
    $V near = square * -0.0056669745f + 0.020606175f;
    near = near * square - 0.053730007f;
    near = near * square + 0.13331331f;
    near = near * square - 0.33333278f;
    near = near * square * size + size;
    const $V power = $EXP(size * -2.0f);
    const $V far = (1.0f - power) / (1.0f + power);
    return ($V)(($I)$SELECT(size < 0.625f, near, far) | (($I)x & (int)0x80000000));"""

_ERF = """/* Below 1 x times a polynomial of x^2, elsewhere a polynomial of |x| with the sign of x; from 3.92 on it is 1. */
    $V size = $ABS(x);
    const $V square = x * x;
    size = $LEAST($SPLAT(3.92f), size);
    $V near = square * 7.8538513e-05f - 0.0008010191f;
    near = near * square + 0.0051883273f;
    near = near * square - 0.026853811f;
    near = near * square + 0.112835854f;
    near = near * square - 0.37612626f;
    near = (near * square + 1.1283791f) * x;
    const $V u = size - 2.46f;
    $V far = u * -9.124657e-06f + 2.5420450e-05f;
    far = far * u + 5.1666113e-05f;
    far = far * u - 0.00030167535f;
    far = far * u + 0.00039113290f;
    far = far * u + 0.00046216691f;
    far = far * u - 0.0029635110f;
    far = far * u + 0.0067976541f;
    far = far * u - 0.0099048270f;
    far = far * u + 0.0098329959f;
    far = far * u - 0.0065357634f;
    far = far * u + 0.0026561935f;
    far = far * u + 0.99949670f;
    far = ($V)(($I)far | (($I)x & (int)0x80000000));
    return $SELECT(size < 1.0f, near, far);"""

OF_VECTORS_F32 = {"exp": _EXP, "tanh": _TANH, "erf": _ERF}
"""By the name of the operation; the others are computed lane by lane, or by an instruction."""


@dataclass(frozen=True, slots=True)
class Part:
    """A step of these functions for which x86 has instructions, with AVX-512."""

    parameters: str
    intrinsics: str
    """The value; $PREFIX and $SUFFIX are those of the vector's intrinsics."""
    plain: str
    """Statements for other machines."""


_SCALE = """const $I n = ($I)shifted - 0x4b400000, half = n >> 1;
    return x * ($V)((half + 127) << 23) * ($V)((n - half + 127) << 23);"""
PARTS_F32 = {
    # x * 2^n, where `shifted` is 1.5 * 2^23 + n, n within -250 and 250.
    "SCALE": Part("$V x, $V shifted", "$PREFIX_scalef_$SUFFIX(x, shifted - 12582912.0f)", plain=_SCALE),
}
