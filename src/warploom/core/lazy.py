"""Packages whose names are imported when they are first used, as a stub beside their `__init__.py` lists them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import lazy_loader  # pyright: ignore[reportMissingTypeStubs]


def lazy_package(name: str, file: str, functions: frozenset[str] = frozenset()) -> tuple[Callable[[str], Any], Any, list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of the package `name`, whose `__init__.py` is `file`.

    functions: words of its interface that are names of its modules, too: they stay the functions when such a module is loaded,
    which Python would put in their place.
    """

    class Package(ModuleType):
        def __setattr__(self, attribute: str, value: object) -> None:
            if not (attribute in functions and isinstance(value, ModuleType)):
                super().__setattr__(attribute, value)

    sys.modules[name].__class__ = Package
    return lazy_loader.attach_stub(name, file)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
