"""Stencils of the size that applications have: 48 to 180 loads a point over many arrays.

Written for PTXASW (2023), section 8.5, as stand-ins for kernels of fluid flow and of elastic waves of that size.

- euler_x, euler: right-hand side of the compressible Euler equations, derivatives of eighth order along x, along x, y and z.
- elastic: accelerations of an isotropic elastic medium in stretched coordinates, fourth order; pure second derivatives in the
  compact form of Sjögreen and Petersson, A Fourth Order Accurate Finite Difference Scheme for the Elastic Wave Equation in Second
  Order Formulation (2012), mixed ones by differences of differences.
- curvilinear: mixed second derivatives in the first component of the elastic operator on a curvilinear, stretched grid, fourth
  order; u, v, w and their axes follow that operator in SW4 with the axis z fastest in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from warploom.kernels.kernelgen.stencil import Field, Grid, Stencil, axes, window

_XYZ = ("nx", "ny", "nz")
_EIGHTH = {1: 0.8, 2: -0.2, 3: 0.038095238, 4: -0.0035714286}
"""Weights of f(x + d) - f(x - d), grid spacing 1."""
_FOURTH = {-2: 1 / 12, -1: -2 / 3, 1: 2 / 3, 2: -1 / 12}
"""Weights of f(x + d)."""


def _at(axis: str, distance: int, other: str = "", other_distance: int = 0) -> str:
    moves = [f"{a}{d:+d}" for a, d in ((axis, distance), (other, other_distance)) if d]
    return ", ".join(moves)


# Euler equations -------------------------------------------------------------------------------------------------------


_MOMENTA, _VELOCITIES = ("mx", "my", "mz"), ("u", "v", "w")


def _fluxes_text(axis: int) -> str:
    name, momentum, velocity = "ijk"[axis], _MOMENTA[axis], _VELOCITIES[axis]
    outputs = ["mass", "rx", "ry", "rz", "energy"]
    terms: dict[str, list[str]] = {out: [] for out in outputs}
    for distance in _EIGHTH:
        ahead, behind = _at(name, distance), _at(name, -distance)
        terms["mass"].append(f"c{distance} * ({momentum}({ahead}) - {momentum}({behind}))")
        for out, carried in zip(("rx", "ry", "rz"), _MOMENTA, strict=True):
            change = f"{carried}({ahead}) * {velocity}({ahead}) - {carried}({behind}) * {velocity}({behind})"
            if carried == momentum:
                change += f" + p({ahead}) - p({behind})"
            terms[out].append(f"c{distance} * ({change})")
        work = f"(e({ahead}) + p({ahead})) * {velocity}({ahead}) - (e({behind}) + p({behind})) * {velocity}({behind})"
        terms["energy"].append(f"c{distance} * ({work})")
    sign = "=" if axis == 0 else "-="
    lines: list[str] = []
    for out in outputs:
        total = "\n    + ".join(terms[out])
        lines.append(f"float {out}_ = -({total}) * h{name};" if sign == "=" else f"{out}_ -= ({total}) * h{name};")
    return "\n".join(lines)


def _euler(dims: int) -> Stencil:
    stores = "\n".join(f"{out}() = {out}_;" for out in ("mass", "rx", "ry", "rz", "energy"))
    return Stencil(
        name="euler_x" if dims == 1 else "euler", dims=3, extents=_XYZ, lower=4, upper=4, loads=48 * dims,
        inputs=axes(*_MOMENTA, "e", "p", *_VELOCITIES[:dims], extents=_XYZ),
        outputs=axes("mass", "rx", "ry", "rz", "energy", extents=_XYZ),
        scalars={f"c{d}": w for d, w in _EIGHTH.items()} | {f"h{name}": 1.0 / (1 + n) for n, name in enumerate("ijk"[:dims])},
        body="\n".join([*(_fluxes_text(axis) for axis in range(dims)), stores]),
        reference=_euler_reference(dims),
    )  # fmt: skip


def _euler_reference(dims: int) -> Callable[[Mapping[str, Grid], Mapping[str, float]], Mapping[str, Grid]]:
    def compute(arrays: Mapping[str, Grid], scalars: Mapping[str, float]) -> Mapping[str, Grid]:
        momenta = [arrays[name] for name in _MOMENTA]
        energy, pressure = arrays["e"], arrays["p"]

        def derivative(grid: Grid, axis: int) -> Grid:
            total = np.zeros_like(window((4, 4), grid))
            for distance in range(1, 5):
                moves = [0, 0, 0]
                moves[axis] = distance
                change = window((4, 4), grid, *moves) - window((4, 4), grid, *(-m for m in moves))
                total += scalars[f"c{distance}"] * change
            return scalars[f"h{'ijk'[axis]}"] * total

        rates = [np.zeros_like(window((4, 4), energy)) for _ in range(5)]
        for axis in range(dims):
            velocity = arrays[_VELOCITIES[axis]]
            rates[0] -= derivative(momenta[axis], axis)
            for component in range(3):
                flux = momenta[component] * velocity
                rates[1 + component] -= derivative(flux + pressure if component == axis else flux, axis)
            rates[4] -= derivative((energy + pressure) * velocity, axis)
        return dict(zip(("mass", "rx", "ry", "rz", "energy"), rates, strict=True))

    return compute


# Elastic waves ---------------------------------------------------------------------------------------------------------

_DISPLACEMENTS, _ACCELERATIONS = ("u", "v", "w"), ("au", "av", "aw")


def _elastic_text() -> str:
    lines: list[str] = []
    for name in "ijk":
        for d in (-1, 0, -2, 1, 2):
            n, at = d + 2, _at(name, d)
            lines.append(
                f"float t{name}{n} = s{name}[{name} + {d}], m{name}{n} = mu({at}), l{name}{n} = la({at});".replace("+ -", "- ")
            )
        for kind, coefficient in (("m", "m{0}{1}"), ("p", "(2.0f * m{0}{1} + l{0}{1})")):
            a = [f"{coefficient.format(name, d)} * t{name}{d}" for d in range(5)]
            lines += [
                f"float {kind}{name}_1 = {a[1]} - 0.75f * ({a[2]} + {a[0]});",
                f"float {kind}{name}_2 = {a[0]} + {a[3]} + 3.0f * ({a[2]} + {a[1]});",
                f"float {kind}{name}_3 = {a[1]} + {a[4]} + 3.0f * ({a[3]} + {a[2]});",
                f"float {kind}{name}_4 = {a[3]} - 0.75f * ({a[2]} + {a[4]});",
            ]
    for component, moved in enumerate(_DISPLACEMENTS):
        lines.append(f"float {moved}_ = {moved}();")
        pure: list[str] = []
        for axis, name in enumerate("ijk"):
            kind = "p" if axis == component else "m"
            parts = [
                f"{kind}{name}_{n} * ({moved}({_at(name, d)}) - {moved}_)"
                for n, d in zip((1, 2, 3, 4), (-2, -1, 1, 2), strict=True)
            ]
            pure.append(f"t{name}2 * ({' + '.join(parts)})")
        lines.append(f"float r{moved} = c6 * (" + "\n    + ".join(pure) + ");")
    for component, (name, moved, out) in enumerate(zip("ijk", _DISPLACEMENTS, _ACCELERATIONS, strict=True)):
        for axis, other in enumerate("ijk"):
            if axis == component:
                continue
            source = _DISPLACEMENTS[axis]
            for outer, inner, coefficient in ((name, other, "l"), (other, name, "m")):
                terms = [
                    f"d{_sign(p)} * {coefficient}{outer}{p + 2} * ("
                    + " + ".join(f"d{_sign(q)} * {source}({_at(outer, p, inner, q)})" for q in _FOURTH)
                    + ")"
                    for p in _FOURTH
                ]
                lines.append(f"r{moved} += t{name}2 * t{other}2 * (" + "\n    + ".join(terms) + ");")
        lines.append(f"{out}() = a * {out}() + cof * r{moved};")
    return "\n".join(lines)


def _sign(distance: int) -> str:
    return f"{'p' if distance > 0 else 'm'}{abs(distance)}"


_FOURTH_SCALARS = {f"d{_sign(d)}": w for d, w in _FOURTH.items()}


def _moved(grid: Grid, axis: int, distance: int) -> Grid:
    """Element p is the neighbour of p; the ends wrap, which an interior of width 4 does not see."""
    return np.roll(grid, -distance, axis=grid.ndim - 1 - axis)


def _first(grid: Grid, axis: int, scalars: Mapping[str, float]) -> Grid:
    return np.sum([scalars[f"d{_sign(d)}"] * _moved(grid, axis, d) for d in _FOURTH], axis=0)


def _elastic(arrays: Mapping[str, Grid], scalars: Mapping[str, float]) -> Mapping[str, Grid]:
    mu, la = arrays["mu"], arrays["la"]
    stretch = [arrays["si"][None, None, :], arrays["sj"][None, :, None], arrays["sk"][:, None, None]]

    def pure(grid: Grid, coefficient: Grid, axis: int) -> Grid:
        """Derivative of (coefficient times the derivative), in the form that is compact."""
        c = [_moved(coefficient * stretch[axis], axis, d) for d in range(-2, 3)]
        weights = {
            -2: c[1] - 0.75 * (c[2] + c[0]),
            -1: c[0] + c[3] + 3 * (c[2] + c[1]),
            1: c[1] + c[4] + 3 * (c[3] + c[2]),
            2: c[3] - 0.75 * (c[2] + c[4]),
        }
        return stretch[axis] * np.sum([weight * (_moved(grid, axis, d) - grid) for d, weight in weights.items()], axis=0)

    results: dict[str, Grid] = {}
    for component, (name, out) in enumerate(zip(_DISPLACEMENTS, _ACCELERATIONS, strict=True)):
        rate = np.zeros_like(mu)
        for axis in range(3):
            rate += scalars["c6"] * pure(arrays[name], 2 * mu + la if axis == component else mu, axis)
            if axis != component:
                source = arrays[_DISPLACEMENTS[axis]]
                squeezed = _first(la * _first(source, axis, scalars), component, scalars)
                sheared = _first(mu * _first(source, component, scalars), axis, scalars)
                rate += stretch[component] * stretch[axis] * (squeezed + sheared)
        whole = scalars["a"] * arrays[out] + scalars["cof"] * rate
        results[out] = window((2, 2), whole)
    return results


ELASTIC = Stencil(
    name="elastic", dims=3, extents=_XYZ, lower=2, upper=2, loads=179,
    inputs=axes(*_DISPLACEMENTS, extents=_XYZ) + axes("mu", "la", extents=_XYZ, low=1, high=2)
    + tuple(Field(f"s{name}", (extent,), 0.5, 1.5) for name, extent in zip("ijk", _XYZ, strict=True)),
    outputs=axes(*_ACCELERATIONS, extents=_XYZ), scalars={"a": 0.5, "cof": 0.25, "c6": 1 / 6, **_FOURTH_SCALARS},
    body=_elastic_text(), reference=_elastic, tolerance=1e-4,
)  # fmt: skip

# Curvilinear derivatives -----------------------------------------------------------------------------------------------

_METRICS = ("m1", "m2", "m3", "m4")
_STIFF = "(2.0f * mu({0}) + la({0}))"
_MU, _LA = "mu({0})", "la({0})"
_MIXED = (
    ("j", ((_MU, "m1", "k", "v", ""),)),
    ("k", ((_LA, "m1", "j", "v", ""),)),
    ("i", ((_STIFF, "m2", "k", "u", "sk[k] * sj[j]"), (_MU, "m3", "k", "v", ""), (_MU, "m4", "k", "w", "sj[j]"))),
    ("k", ((_STIFF, "m2", "i", "u", "sk[k] * sj[j]"), (_LA, "m3", "i", "v", "sj[j] * sj[j]"), (_LA, "m4", "i", "w", "sj[j]"))),
    ("j", ((_MU, "m3", "i", "u", "sk[k] * sj[j{1}]"), (_MU, "m2", "i", "v", ""))),
    ("i", ((_MU, "m3", "j", "u", "sk[k] * sj[j]"), (_LA, "m2", "j", "v", ""))),
)
"""Along each outer axis: what is differentiated, as modulus * m1 * metric * stretching * derivative along an inner axis of a
displacement."""
_OUTSIDE_IN = (2, -2, 1, -1)


def _curvilinear_text() -> str:
    lines = ["float rate = 0.0f;"]
    for outer, terms in _MIXED:
        for d in _OUTSIDE_IN:
            at = _at(outer, d)
            for modulus, metric, inner, moved, stretching in terms:
                slope = " + ".join(f"d{_sign(t)} * {moved}({_at(outer, d, inner, t)})" for t in _OUTSIDE_IN)
                factors = [modulus.format(at), f"{metric}({at})", f"m1({at})", f"({slope})"]
                factors += [stretching.format(at, f"{d:+d}")] if stretching else []
                lines.append(f"rate += d{_sign(d)} * {' * '.join(factors)};")
    return "\n".join([*lines, "rate_u() = rate;"])


def _curvilinear(arrays: Mapping[str, Grid], scalars: Mapping[str, float]) -> Mapping[str, Grid]:
    mu, la, m1, m2, m3, m4 = (arrays[name] for name in ("mu", "la", *_METRICS))
    u, v, w = (arrays[name] for name in _DISPLACEMENTS)
    sj, sk = arrays["sj"][None, :, None], arrays["sk"][:, None, None]

    def d(grid: Grid, axis: str) -> Grid:
        return _first(grid, "ijk".index(axis), scalars)

    stiff = 2 * mu + la
    rate = d(mu * m1 * m1 * d(v, "k"), "j") + d(la * m1 * m1 * d(v, "j"), "k")
    rate += d(m1 * (stiff * m2 * sk * sj * d(u, "k") + mu * m3 * d(v, "k") + mu * m4 * sj * d(w, "k")), "i")
    rate += sj * sk * d(stiff * m1 * m2 * d(u, "i"), "k") + sj * d(la * m1 * (m3 * sj * d(v, "i") + m4 * d(w, "i")), "k")
    rate += sk * d(mu * m1 * m3 * sj * d(u, "i"), "j") + d(mu * m1 * m2 * d(v, "i"), "j")
    rate += sk * sj * d(mu * m1 * m3 * d(u, "j"), "i") + d(la * m1 * m2 * d(v, "j"), "i")
    return {"rate_u": window((2, 2), rate)}


CURVILINEAR = Stencil(
    name="curvilinear", dims=3, extents=_XYZ, lower=2, upper=2, loads=166,
    inputs=axes(*_DISPLACEMENTS, *_METRICS, extents=_XYZ) + axes("mu", "la", extents=_XYZ, low=1, high=2)
    + tuple(Field(f"s{name}", (extent,), 0.5, 1.5) for name, extent in zip("jk", _XYZ[1:], strict=True)),
    outputs=axes("rate_u", extents=_XYZ), scalars=_FOURTH_SCALARS,
    body=_curvilinear_text(), reference=_curvilinear, tolerance=1e-4,
)  # fmt: skip

APPLICATIONS: dict[str, Stencil] = {s.name: s for s in (_euler(1), _euler(3), ELASTIC, CURVILINEAR)}
