"""Programs of CUB, Triton and Numba, as their compilers emit them, against NumPy."""

import math
import re

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.ptx.corpus import text

from warploom.ptx import Launch, launch, lower, parse


def integers(seed: int, count: int, low: int = -1000, high: int = 1000) -> NDArray:
    return np.random.default_rng(seed).integers(low, high, count).astype(np.int32)


def floats(seed: int, *shape: int) -> NDArray:
    return np.random.default_rng(seed).random(shape, np.float32)


class TestCub:
    """128 threads, four items each."""

    def run(self, name: str) -> tuple[NDArray, NDArray]:
        x = integers(1, 512)
        ran = launch(text(name), grid=1, block=128, args=[x, np.zeros_like(x)])
        assert (ran.status, ran.findings) == ("finished", ())
        return x, ran.arrays[1]

    def test_scan(self) -> None:
        x, y = self.run("cub/scan/90")
        np.testing.assert_array_equal(y, np.cumsum(x))

    @pytest.mark.slow
    def test_raking_scan(self) -> None:
        x, y = self.run("cub/scan_raking/90")
        np.testing.assert_array_equal(y, np.cumsum(x) - x)

    @pytest.mark.slow
    def test_exchanges(self) -> None:
        x, y = self.run("cub/exchange/90")
        np.testing.assert_array_equal(y, x)
        x, y = self.run("cub/exchange_warp/90")
        np.testing.assert_array_equal(y, x.reshape(4, 4, 32).transpose(0, 2, 1).reshape(-1))

    @pytest.mark.slow
    def test_reduce(self) -> None:
        x, y = self.run("cub/reduce/90")
        assert y[:4].tolist() == [x.sum()] * 4
        assert y[4:].tolist() == [0, 1, 2, 3] * 127

    def test_radix_sort(self) -> None:
        x, y = self.run("cub/radix_sort/90")
        np.testing.assert_array_equal(y, np.sort(x))


class TestTriton:
    """Every parameter after the kernel's own is scratch memory that is not used."""

    def run(self, name: str, grid: int | tuple[int, int], args: list[object], capability: int = 90) -> Launch:
        program = lower(parse(text(f"triton/{name}/{capability}")))
        from tests.ptx.corpus import triton_kernels

        (kernel,) = program.kernels
        threads = kernel.directive("reqntid") or kernel.directive("maxntid")
        assert threads is not None
        scratch = [np.zeros(1, np.uint32)] * (len(kernel.parameters) - len(args))
        shared = triton_kernels.dynamic_shared_bytes(name, capability)
        ran = launch(program, grid=grid, block=threads, args=[*args, *scratch], dynamic_shared_bytes=shared)  # type: ignore[list-item]
        assert (ran.status, ran.findings) == ("finished", ())
        return ran

    def test_vector_add(self) -> None:
        x, y = floats(2, 1000), floats(3, 1000)
        np.testing.assert_array_equal(self.run("vector_add", 4, [x, y, np.zeros_like(x), 1000]).arrays[2], x + y)

    def test_softmax(self) -> None:
        x = floats(4, 8, 1000)
        powers = np.exp(x - x.max(axis=1, keepdims=True))
        found = self.run("softmax", 8, [x, np.zeros_like(x), 1000, 1000]).arrays[1]
        np.testing.assert_allclose(found, powers / powers.sum(axis=1, keepdims=True), rtol=1e-5)

    def test_stencils(self) -> None:
        u = floats(5, 1000)
        found = self.run("stencil_1d", 4, [u, np.zeros_like(u), 1000]).arrays[1]
        np.testing.assert_allclose(found[1:-1], 0.25 * u[:-2] + 0.5 * u[1:-1] + 0.25 * u[2:], rtol=1e-6)
        u = floats(6, 50, 130)
        found = self.run("stencil_2d", (3, 7), [u, np.zeros_like(u), 130, 50]).arrays[1]
        expected = u[1:-1, :-2] + u[1:-1, 2:] + u[:-2, 1:-1] + u[2:, 1:-1] - 4 * u[1:-1, 1:-1]
        np.testing.assert_allclose(found[1:-1, 1:-1], expected, atol=1e-6)

    def test_scan_histogram_sort(self) -> None:
        x = integers(7, 1024, 0, 100)
        found = self.run("scan", 2, [x, np.zeros_like(x), 1000]).arrays[1]
        np.testing.assert_array_equal(found[:1000], np.concatenate([np.cumsum(x[:512]), np.cumsum(x[512:1000])]))
        found = self.run("histogram", 4, [x, np.zeros(100, np.int32), 1000]).arrays[1]
        np.testing.assert_array_equal(found, np.bincount(x[:1000], minlength=100))
        found = self.run("sort_rows", 4, [x, np.zeros_like(x)]).arrays[1]
        np.testing.assert_array_equal(found, np.sort(x.reshape(4, 256), axis=1).reshape(-1))

    def test_error_function_to_bf16(self) -> None:
        x = floats(8, 1000)
        found = self.run("halve_precision", 4, [x, np.zeros(1000, np.uint16), 1000]).arrays[1]
        real = (found.astype(np.uint32) << 16).view(np.float32)
        np.testing.assert_allclose(real, [math.erf(v) for v in x], rtol=2.0**-8)

    def test_matrix_product_on_tensor_cores(self) -> None:
        a, b = floats(9, 100, 72).astype(np.float16), floats(10, 72, 96).astype(np.float16)
        found = self.run("matmul", (2, 2), [a, b, np.zeros((100, 96), np.float16), 100, 96, 72], capability=80).arrays[2]
        np.testing.assert_allclose(found.astype(np.float32), a.astype(np.float32) @ b.astype(np.float32), rtol=2e-3)


class TestNumba:
    """An array argument is two pointers, the numbers of items and of bytes in one, the data, extents and strides."""

    def run(self, name: str, grid: int | tuple[int, int], block: int | tuple[int, int], arrays: list[NDArray]) -> list[NDArray]:
        args: list[object] = []
        places: list[int] = []
        for array in arrays:
            places.append(len(args) + 4)
            args += [0, 0, array.size, array.itemsize, array, *array.shape, *array.strides]
        source = text(f"numba/{name}/90")
        kernel = next(k for k in lower(parse(source)).kernels)
        ran = launch(source, kernel.name, grid=grid, block=block, args=args)  # type: ignore[arg-type]
        assert (ran.status, ran.findings) == ("finished", ())
        return [ran.arrays[place] for place in places]

    def test_vector_add(self) -> None:
        x, y = floats(11, 1000), floats(12, 1000)
        np.testing.assert_array_equal(self.run("vector_add", 8, 128, [x, y, np.zeros_like(x)])[2], x + y)

    def test_stencil(self) -> None:
        u = floats(13, 40, 50)
        found = self.run("stencil", (5, 7), (8, 8), [u, np.zeros_like(u)])[1]
        expected = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
        np.testing.assert_allclose(found[1:-1, 1:-1], expected, rtol=1e-6)

    def test_sums(self) -> None:
        x = floats(14, 1000)
        np.testing.assert_allclose(self.run("block_sum", 4, 256, [x, np.zeros(1, np.float32)])[1], [x.sum()], rtol=1e-5)
        x = floats(15, 1024)
        found = self.run("warp_sum", 8, 128, [x, np.zeros(32, np.float32)])[1]
        np.testing.assert_allclose(found, x.reshape(32, 32).sum(axis=1), rtol=1e-5)

    def test_python_division(self) -> None:
        x, y = integers(16, 500), integers(17, 500, 1, 50) * np.where(np.arange(500) % 2, 1, -1).astype(np.int32)
        found = self.run("divide", 4, 128, [x, y, np.zeros_like(x)])[2]
        np.testing.assert_array_equal(found, x // y + x % y)


@pytest.mark.parametrize("name", ["nvrtc/pipeline/80", "nvrtc/pipeline/90"])
def test_asynchronous_copies(name: str) -> None:
    x = floats(18, 64, 4)
    source = text(name)
    ran = launch(source, "pipeline", grid=1, block=32, args=[x, np.zeros_like(x)])
    assert (ran.status, ran.findings) == ("finished", ())
    np.testing.assert_array_equal(ran.arrays[1], np.concatenate([x[:32][::-1], x[32:][::-1]]))
    early = re.sub(r"cp.async.wait_group\s+1;", "", source)
    ran = launch(early, "pipeline", grid=1, block=32, args=[x, np.zeros_like(x)])
    assert [f.kind for f in ran.findings] == ["early_copy_read"]
