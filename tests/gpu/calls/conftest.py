from collections.abc import Callable, Generator
from typing import Any

import pytest
from tests.gpu.calls.fake_driver import FakeDriver

from warploom.gpu import device
from warploom.gpu.calls import copies, launching, loading
from warploom.gpu.toolchain import compile_cuda, toolchain_available


@pytest.fixture
def make_driver(monkeypatch: pytest.MonkeyPatch) -> Generator[Callable[..., FakeDriver]]:
    """Puts a double in the driver's place; cubins are the compiler's own."""
    if not toolchain_available():
        pytest.skip("no CUDA compiler")

    def made(*capabilities: tuple[int, int]) -> FakeDriver:
        fake = FakeDriver(capabilities or ((9, 0),))

        def compiled(text: str, arch: str, *, options: tuple[str, ...] = ()) -> Any:
            found = compile_cuda(text, arch, options=options)
            fake.ptx[found.cubin] = found.ptx
            fake.compiled.append((text, arch, options))
            return found

        for module in (device, launching, copies):
            monkeypatch.setattr(module, "driver", lambda: fake)
        monkeypatch.setattr(device, "device_available", lambda: True)
        monkeypatch.setattr(loading, "compile_cuda", compiled)
        device.primary_context.cache_clear()
        loading.forget()
        return fake

    yield made
    device.primary_context.cache_clear()
    loading.forget()


@pytest.fixture
def driver(make_driver: Callable[..., FakeDriver]) -> FakeDriver:
    return make_driver()
