"""Textures and surfaces: fetches against a sampler in scalar Python, accesses of surfaces against NumPy, and what is refused."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from warploom.core import UnsupportedError, UserError
from warploom.ptx import Launch, Surface, Texture, launch

from .written import kernel

POINTS = np.array([-1.3, -0.51, -0.5, -0.01, 0.0, 0.2, 0.499, 0.5, 0.51, 0.93, 1.0, 1.49, 2.5, 3.99, 4.2, 7.7], np.float32)
RNG = np.random.default_rng(5)


def texel(texture: Texture, number: int, size: int) -> int | None:
    """Which texel along one axis stands for this number; None: outside, and so 0."""
    if texture.outside == "clamp":
        return min(max(number, 0), size - 1)
    if texture.outside == "border":
        return number if 0 <= number < size else None
    if texture.outside == "wrap":
        return number % size
    return number % (2 * size) if number % (2 * size) < size else 2 * size - 1 - number % (2 * size)


def sampled(texture: Texture, at: tuple[float, ...]) -> float:
    """One component of one texel or of the mean of neighbours, by the formulas of the CUDA C++ Programming Guide."""
    axes: list[list[tuple[int | None, float]]] = []
    for value, size in zip(at, reversed(texture.array.shape), strict=True):
        x = float(value)
        if texture.normalized:
            whole = math.floor(x)
            if texture.outside == "wrap":
                x = float(np.float32(x) - np.float32(whole))
            if texture.outside == "mirror":
                rest = np.float32(x) - np.float32(whole)
                x = float(rest if whole % 2 == 0 else np.float32(1) - rest)
            x = float(np.float32(x) * np.float32(size))
        if texture.filter == "point":
            axes.append([(texel(texture, math.floor(x), size), 1.0)])
        else:
            lower = math.floor(x - 0.5)
            share = math.floor((x - 0.5 - lower) * 256 + 0.5) / 256
            axes.append([(texel(texture, lower, size), 1 - share), (texel(texture, lower + 1, size), share)])
    total = 0.0
    for corner in itertools.product(*axes):
        place = tuple(number for number, _ in reversed(corner))
        if None not in place:
            total += math.prod(weight for _, weight in corner) * float(texture.array[place])
    return total


FETCH = """ld.param.u64 %rd4, [p1]; ld.param.u64 %rd5, [p2];
mul.wide.u32 %rd6, %r4, 12; add.s64 %rd7, %rd5, %rd6;
ld.global.f32 %f1, [%rd7]; ld.global.f32 %f2, [%rd7+4]; ld.global.f32 %f3, [%rd7+8];
{fetch}
st.global.f32 [%rd3], %f4;
"""
FETCHES = {
    1: "tex.1d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%rd4, {%f1}];",
    2: "tex.2d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%rd4, {%f1, %f2}];",
    3: "tex.3d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%rd4, {%f1, %f2, %f3, %f3}];",
}


def fetch(texture: Texture | NDArray[Any], body: str, at: NDArray[np.float32]) -> NDArray[np.float32]:
    text = kernel(FETCH.replace("{fetch}", body), parameters=3)
    ran = launch(text, grid=1, block=len(at), args=[np.zeros(len(at), np.float32), texture, at])
    assert (ran.status, ran.findings) == ("finished", ())
    return ran.arrays[0]


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("how", ["point", "linear"])
@pytest.mark.parametrize(
    ("outside", "normalized"),
    [("clamp", False), ("clamp", True), ("border", False), ("border", True), ("wrap", True), ("mirror", True)],
)
def test_fetches_are_those_of_the_guide(axes: int, how: Any, outside: Any, normalized: bool) -> None:
    array = RNG.random((3, 5, 4)[3 - axes :]).astype(np.float32)
    texture = Texture(array, how, outside, normalized)
    at = np.stack([RNG.permutation(POINTS), RNG.permutation(POINTS), RNG.permutation(POINTS)], axis=1)
    wanted = np.array([sampled(texture, tuple(point[:axes].tolist())) for point in at])
    np.testing.assert_allclose(fetch(texture, FETCHES[axes], at), wanted, rtol=1e-6, atol=1e-7)


def test_integers_as_normalized_floats() -> None:
    at = np.array([[0.5, 0, 0], [1.5, 0, 0], [2.5, 0, 0]], np.float32)
    unsigned = fetch(Texture(np.array([0, 51, 255], np.uint8), reads="normalized_float"), FETCHES[1], at)
    assert unsigned.tolist() == [0.0, np.float32(0.2), 1.0]
    signed = fetch(Texture(np.array([-128, 127, -127], np.int8), reads="normalized_float"), FETCHES[1], at)
    assert signed.tolist() == [-1.0, 1.0, -1.0]


def test_texels_by_number_are_0_outside() -> None:
    body = "mov.b32 %r5, %f1; tex.1d.v4.f32.s32 {%f4, %f5, %f6, %f7}, [%rd4, {%r5}];"
    at = np.array([[-1, 0, 0], [0, 0, 0], [2, 0, 0], [3, 0, 0]], np.int32).view(np.float32)
    assert fetch(Texture(np.array([5, 6, 7], np.float32)), body, at).tolist() == [0, 5, 7, 0]


def test_layers_and_components() -> None:
    array = RNG.random((2, 3, 4, 2)).astype(np.float32)
    body = "cvt.rzi.u32.f32 %r5, %f3; tex.a2d.v4.f32.f32 {%f5, %f4, %f6, %f7}, [%rd4, {%r5, %f1, %f2, %f2}];"
    at = np.array([[0.5, 0.5, 0], [3.5, 1.5, 1], [2.5, 2.5, 1], [2.5, 2.5, 9]], np.float32)  # the last layer stands for 9
    wanted = [array[0, 0, 0, 1], array[1, 1, 3, 1], array[1, 2, 2, 1], array[1, 2, 2, 1]]
    assert fetch(Texture(array), body, at).tolist() == wanted


def test_what_threads_name_may_differ() -> None:
    body = "setp.lt.u32 %p1, %r1, 1; ld.param.u64 %rd8, [p3]; selp.b64 %rd4, %rd4, %rd8, %p1; " + FETCHES[1]
    text = kernel(FETCH.replace("{fetch}", body), parameters=4)
    ones, twos = (Texture(np.full(4, n, np.float32)) for n in (1, 2))
    ran = launch(text, grid=1, block=3, args=[np.zeros(3, np.float32), ones, np.zeros((3, 3), np.float32), twos])
    assert ran.arrays[0].tolist() == [1, 2, 2]


def test_a_guarded_fetch_leaves_the_others_alone() -> None:
    body = "mov.f32 %f4, 0f41100000; setp.lt.u32 %p1, %r1, 1; @%p1 " + FETCHES[1]
    assert fetch(Texture(np.ones(4, np.float32)), body, np.zeros((3, 3), np.float32)).tolist() == [1, 9, 9]


@pytest.mark.parametrize(
    ("array", "settings", "message"),
    [
        (np.zeros(4, np.float64), {}, "at most 4 bytes"),
        (np.zeros(4, np.int32), {"reads": "normalized_float"}, "8 or 16 bits"),
        (np.zeros(4, np.uint8), {"filter": "linear"}, "with a linear filter"),
        (np.zeros(4, np.float32), {"outside": "wrap"}, "normalized coordinates with wrap"),
        (np.zeros(0, np.float32), {}, "none of them empty"), (np.zeros(4, np.complex64), {}, "expected numbers"),
    ],
)  # fmt: skip
def test_textures_that_no_device_has_are_refused(array: NDArray[Any], settings: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        Texture(array, **settings)


AT = np.zeros((2, 3), np.float32)


@pytest.mark.parametrize(
    ("given", "body", "message"),
    [
        (np.zeros(4, np.float32), FETCHES[1], "expected a handle of a texture"),
        (Surface(np.zeros(4, np.float32)), FETCHES[1], "got argument 1 .a surface."),
        (Texture(np.zeros(4, np.float32)), FETCHES[2], "an array of 2 axes"),
        (Texture(np.zeros((4, 3), np.float32)), FETCHES[1], "whose last has 1, 2 or 4"),
        (Texture(np.zeros(4, np.uint8)), FETCHES[1], "integers read as normalized floats"),
        (Texture(np.zeros(4, np.float32)), "tex.2d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%rd4, {%f1}];", "2 coordinates"),
        (Texture(np.zeros(4, np.float32)), "tex.1d.v4.f32.f32 {%f4, %f5}, [%rd4, {%f1}];", "four destinations"),
        (Texture(np.zeros(4, np.float32)), "tex.1d.v4.f32.f32 {%f4, %f5, %f6, %f7}, %rd4;", "a handle and coordinates"),
    ],
)
def test_wrong_fetches_are_refused(given: Texture | NDArray[Any], body: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        fetch(given, body, AT)


@pytest.mark.parametrize(
    "body",
    [
        "tex.cube.v4.f32.s32 {%f4, %f5, %f6, %f7}, [%rd4, {%r1, %r1, %r1, %r1}];",
        "tld4.r.cube.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%rd4, {%f1, %f2, %f3, %f3}];",
        "tld4.r.2d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%rd4, {%f1, %f2}], {%r1, %r1};",
        "sust.p.1d.b32.trap [%rd4, {%r1}], {%r1};",
        "sured.p.add.1d.b32.trap [%rd4, {%r1}], %r1;",
        "sured.b.and.1d.u32.trap [%rd4, {%r1}], %r1;",
        "tex.1d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%rd4, %rd4, {%f1}];",
        "tex.2d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%rd4, {%f1, %f2}], {%r1, %r1};",
    ],
)
def test_unknown_fetches_stop_the_run(body: str) -> None:
    with pytest.raises(UnsupportedError, match="PTX_UNSUPPORTED"):
        fetch(Texture(np.zeros(4, np.float32)), body, AT)


@pytest.mark.parametrize(("outside", "normalized"), [("clamp", False), ("border", False), ("wrap", True), ("mirror", True)])
def test_gathers_are_the_neighbours_of_a_linear_filter(outside: Any, normalized: bool) -> None:
    array = RNG.integers(1, 1000, (5, 4, 2)).astype(np.float32)
    texture = Texture(array, "point", outside, normalized)
    at = np.stack([RNG.permutation(POINTS), RNG.permutation(POINTS), POINTS], axis=1)
    for place in range(4):
        targets = ", ".join("%f4" if n == place else f"%f{5 + n - (n > place)}" for n in range(4))
        found = fetch(texture, f"tld4.g.2d.v4.f32.f32 {{{targets}}}, [%rd4, {{%f1, %f2}}];", at)
        for point, value in zip(at.tolist(), found.tolist(), strict=True):
            numbers: list[int | None] = []
            for axis, (size, far) in enumerate(((4, place in (1, 2)), (5, place in (0, 1)))):
                x = np.float32(point[axis])
                if normalized:
                    whole = math.floor(x)
                    rest = x - np.float32(whole)
                    x = (np.float32(1) - rest if outside == "mirror" and whole % 2 else rest) * np.float32(size)
                numbers.append(texel(texture, math.floor(round((float(x) - 0.5) * 256) / 256) + far, size))
            column, row = numbers
            assert value == (0 if column is None or row is None else array[row, column, 1])


def test_gathers_of_components_that_are_not_there_are_0() -> None:
    body = "tld4.b.2d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%rd4, {%f1, %f2}];"
    assert fetch(Texture(np.ones((4, 4, 2), np.float32)), body, np.ones((2, 3), np.float32)).tolist() == [0, 0]


def met(x: float, y: float, z: float) -> tuple[int, float, float]:
    """Face and place of a direction, by the table of the CUDA C++ Programming Guide."""
    if abs(x) >= abs(y) and abs(x) >= abs(z):
        face, m, s, t = (0, x, -z, -y) if x >= 0 else (1, -x, z, -y)
    elif abs(y) >= abs(z):
        face, m, s, t = (2, y, x, z) if y >= 0 else (3, -y, x, -z)
    else:
        face, m, s, t = (4, z, x, -y) if z >= 0 else (5, -z, -x, -y)
    return face, (s / m + 1) / 2, (t / m + 1) / 2


@pytest.mark.parametrize("how", ["point", "linear"])
@pytest.mark.parametrize("layered", [False, True])
def test_cubes(how: Any, layered: bool) -> None:
    array = RNG.random((12 if layered else 6, 4, 4)).astype(np.float32)
    at = np.concatenate([RNG.normal(size=(30, 3)), np.eye(3), -np.eye(3)]).astype(np.float32)
    body = "mov.u32 %r5, 1; " if layered else ""
    name, first = ("acube", "%r5, ") if layered else ("cube", "")
    last = "" if layered else ", %f3"
    body += f"tex.{name}.v4.f32.f32 {{%f4, %f5, %f6, %f7}}, [%rd4, {{{first}%f1, %f2, %f3{last}}}];"
    found = fetch(Texture(array, how), body, at)
    for point, value in zip(at.tolist(), found.tolist(), strict=True):
        face, s, t = met(*point)
        one = Texture(array[face + 6 * layered], how, "clamp", True)
        assert value == pytest.approx(sampled(one, (float(np.float32(s)), float(np.float32(t)))), abs=0.02)


def test_a_direction_needs_three_coordinates() -> None:
    with pytest.raises(UserError, match="three coordinates of a direction"):
        fetch(Texture(np.zeros((6, 4, 4), np.float32)), "tex.cube.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%rd4, {%f1, %f2}];", AT)


def test_reductions_on_surfaces() -> None:
    array = np.zeros(4, np.uint32)
    ran = on_surface("and.b32 %r5, %r5, 7; sured.b.add.1d.u32.trap [%rd4, {%r5}], %r1;", array, block=64)
    assert (ran.status, ran.findings) == ("finished", ())
    assert ran.arrays[1].tolist() == [sum(range(0, 64, 2)), sum(range(1, 64, 2)), 0, 0]
    ran = on_surface("sured.b.min.1d.s32.zero [%rd4, {%r5}], -3;", array.view(np.int32), block=8)
    assert ran.arrays[1].tolist() == [-3] * 4


def on_surface(body: str, array: NDArray[Any], *, block: int = 4) -> Launch:
    text = kernel("ld.param.u64 %rd4, [p1]; shl.b32 %r5, %r1, 2;" + body, parameters=2)
    return launch(text, grid=1, block=block, args=[np.zeros(block, np.uint32), Surface(array)])


def test_surfaces_are_read_and_written() -> None:
    array = np.arange(12, dtype=np.float32).reshape(3, 4)
    ran = on_surface(
        "mov.u32 %r6, 2; suld.b.2d.b32.trap {%r7}, [%rd4, {%r5, %r6}]; st.global.u32 [%rd3], %r7;"
        "mov.u32 %r6, 0; sust.b.2d.b32.trap [%rd4, {%r5, %r6}], {%r7};",
        array,
    )
    assert (ran.status, ran.findings) == ("finished", ())
    assert ran.arrays[0].view(np.float32).tolist() == array[2].tolist()
    assert ran.arrays[1].tolist() == [array[2].tolist(), array[1].tolist(), array[2].tolist()]


def test_vectors_layers_and_components_of_surfaces() -> None:
    array = np.arange(2 * 3 * 4, dtype=np.uint16).reshape(2, 3, 4)  # two layers of three texels of four components
    ran = on_surface(
        "mov.u32 %r6, 1; shl.b32 %r5, %r1, 3; suld.b.a1d.v4.b16.trap {%h1, %h2, %h3, %h4}, [%rd4, {%r6, %r5}];"
        "cvt.u32.u16 %r7, %h3; st.global.u32 [%rd3], %r7;",
        array,
        block=3,
    )
    assert ran.arrays[0].tolist() == array[1, :, 2].tolist()


@pytest.mark.parametrize(("beyond", "left"), [("clamp", [2, 3, 3, 3]), ("zero", [2, 3, 0, 0])])
def test_beyond_the_edges_of_a_surface(beyond: str, left: list[int]) -> None:
    array = np.arange(4, dtype=np.uint32)
    load = f"add.u32 %r5, %r5, 8; suld.b.1d.b32.{beyond} {{%r7}}, [%rd4, {{%r5}}]; st.global.u32 [%rd3], %r7;"
    assert on_surface(load, array).arrays[0].tolist() == left
    store = f"sub.u32 %r5, %r5, 12; mov.u32 %r7, 8; sust.b.1d.b32.{beyond} [%rd4, {{%r5}}], {{%r7}};"
    assert on_surface(store, array).arrays[1].tolist() == [8, 1, 2, 3]  # the threads before the edge store there, too, or nowhere
    store = store.replace("sub.u32 %r5, %r5, 12", "add.u32 %r5, %r5, 4")
    assert on_surface(store, array).arrays[1].tolist() == [0, 8, 8, 8]


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("add.u32 %r5, %r5, 8; suld.b.1d.b32.trap {%r7}, [%rd4, {%r5}];", "out_of_bounds"),
        ("sub.u32 %r5, %r5, 4; sust.b.1d.b32.trap [%rd4, {%r5}], {%r7};", "out_of_bounds"),
        ("add.u32 %r5, %r5, 2; suld.b.1d.b32.zero {%r7}, [%rd4, {%r5}];", "misaligned"),
        ("ld.global.u32 %r7, [%rd4];", "out_of_bounds"),
    ],
)
def test_faults_on_surfaces(body: str, kind: str) -> None:
    ran = on_surface("mov.u32 %r7, 0;" + body, np.arange(4, dtype=np.uint32))
    assert (ran.status, ran.findings[-1].kind) == ("fault", kind)
    assert "surface" in str(ran.findings[-1]) or kind == "misaligned"


def test_races_on_surfaces_are_found() -> None:
    ran = on_surface("mov.u32 %r6, 0; sust.b.1d.b32.trap [%rd4, {%r6}], {%r1};", np.arange(4, dtype=np.uint32))
    assert [f.kind for f in ran.findings] == ["global_race"]
    ran = on_surface(
        "xor.b32 %r6, %r5, 4; sust.b.1d.b32.trap [%rd4, {%r5}], {%r1}; suld.b.1d.b32.trap {%r7}, [%rd4, {%r6}];"
        "st.global.u32 [%rd3], %r7;",
        np.arange(4, dtype=np.uint32),
    )
    assert [f.kind for f in ran.findings] == ["global_race"]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("suld.b.1d.v2.b32.trap {%r7}, [%rd4, {%r5}];", "2 destinations"),
        ("suld.b.1d.b32.trap {%h1}, [%rd4, {%r5}];", "at least 32 bits"),
        ("sust.b.1d.v2.b32.trap [%rd4, {%r5}], {%r7};", "2 sources"),
    ],
)
def test_wrong_accesses_of_surfaces_are_refused(body: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        on_surface("mov.u32 %r7, 0;" + body, np.arange(4, dtype=np.uint32))


def test_a_surface_is_no_texture() -> None:
    text = kernel("ld.param.u64 %rd4, [p1]; suld.b.1d.b32.trap {%r7}, [%rd4, {%r1}];", parameters=2)
    with pytest.raises(UserError, match="expected a handle of a surface"):
        launch(text, grid=1, block=1, args=[np.zeros(1, np.uint32), Texture(np.zeros(4, np.float32))])


def test_an_image_is_no_number() -> None:
    with pytest.raises(UserError, match="got a texture or a surface"):
        launch(
            ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u32 n) { ret; }\n",
            grid=1, block=1, args=[Texture(np.zeros(4, np.float32))],
        )  # fmt: skip
