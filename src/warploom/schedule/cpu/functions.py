"""Vector forms of transcendental functions as C text; $V is the vector, $I its integers, other $NAMES are helpers.

Errors against the exact value, all f32 arguments: see tests/schedule/cpu/test_functions.py.
"""

_EXP = """/* 2^n * exp(r), r within log(2) / 2; overflows to infinity, underflows gradually, NaN stays. */
    x = $SELECT(x < -104.0f, $SPLAT(-104.0f), x);
    x = $SELECT(x > 89.0f, $SPLAT(89.0f), x);
    const $V shifted = x * 1.44269504f + 12582912.0f;
    const $V whole = shifted - 12582912.0f;
    const $V r = (x - whole * 0.693359375f) - whole * -2.12194440e-4f;
    $V sum = r * 0.0013814558f + 0.008368736f;
    sum = sum * r + 0.04166839f;
    sum = sum * r + 0.16666521f;
    sum = sum * r + 0.49999994f;
    sum = sum * r + 1.0f;
    sum = sum * r + 1.0f;
    const $I n = ($I)shifted - 0x4b400000, half = n >> 1;
    return sum * ($V)((half + 127) << 23) * ($V)((n - half + 127) << 23);"""

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

_ERF = """/* Near zero x times a polynomial of x^2, elsewhere 1 - exp(q), where q is a polynomial of |x| near log(1 - erf |x|). */
    $V size = $ABS(x);
    const $V square = x * x;
    size = $SELECT(size > 3.95f, $SPLAT(3.95f), size);
    $V near = square * -6.3151255e-04f + 5.051094e-03f;
    near = near * square - 0.026802547f;
    near = near * square + 0.112827174f;
    near = near * square - 0.37612572f;
    near = (near * square + 1.1283791f) * x;
    $V power = size * 2.0367916e-04f - 3.1178757e-03f;
    power = power * size + 0.022519132f;
    power = power * size - 0.10452607f;
    power = power * size - 0.63651878f;
    power = power * size - 1.1280611f;
    power = power * size - 1.045079e-04f;
    const $V far = 1.0f - $EXP(power);
    const $V signed_far = ($V)(($I)far | (($I)x & (int)0x80000000));
    return $SELECT(size < 0.85f, near, signed_far);"""

OF_VECTORS_F32 = {"exp": _EXP, "tanh": _TANH, "erf": _ERF}
"""By the name of the operation; the others are computed lane by lane, or by an instruction."""
