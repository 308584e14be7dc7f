from tests.gpu.calls.conftest import driver, make_driver

__all__ = ["driver", "make_driver"]
