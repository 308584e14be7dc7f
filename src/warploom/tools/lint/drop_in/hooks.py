"""Changes to modules of other packages, made as soon as they are imported, and taken back where that is asked for."""

from __future__ import annotations

import contextlib
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from types import ModuleType
from typing import Any

from warploom.tools.lint.drop_in.changes import Changes


def _triton(module: ModuleType, changes: Changes) -> None:
    from warploom.tools.lint.drop_in import triton_launches

    triton_launches.replace_launches(module, changes)


def _autotuner(module: ModuleType, changes: Changes) -> None:
    from warploom.tools.lint.drop_in import triton_launches

    triton_launches.replace_benchmarks(module, changes)


def _numba(module: ModuleType, changes: Changes) -> None:
    from warploom.tools.lint.drop_in import numba_launches

    numba_launches.replace_launches(module, changes)


def _numba_arrays(module: ModuleType, changes: Changes) -> None:
    from warploom.tools.lint.drop_in import numba_launches

    numba_launches.replace_arrays(module, changes)


CHANGED: Mapping[str, Callable[[ModuleType, Changes], None]] = {
    "triton.runtime.jit": _triton,
    "triton.runtime.autotuner": _autotuner,
    "numba.cuda.dispatcher": _numba,
    "numba.cuda": _numba_arrays,
}
"""Changes by the name of a module, made once it has run."""


class _Loader(importlib.abc.Loader):
    """The module's own loader, then the change."""

    def __init__(self, loader: importlib.abc.Loader, change: Callable[[ModuleType], None]) -> None:
        self._loader = loader
        self._change = change

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        self._change(module)

    def __getattr__(self, name: str) -> Any:
        """Whatever else the module's loader offers (`get_source` for tracebacks)."""
        return getattr(self._loader, name)


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the modules of `CHANGED` by the other finders, and gives them a loader that makes the change."""

    def __init__(self) -> None:
        self.changes = Changes()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname not in CHANGED:
            return None
        for finder in sys.meta_path:
            if finder is self:
                continue
            spec = finder.find_spec(fullname, path, target)
            if spec is not None:
                if spec.loader is not None:
                    spec.loader = _Loader(spec.loader, lambda module: CHANGED[fullname](module, self.changes))
                return spec
        return None


def activate() -> None:
    """From now on launches of Triton's and Numba's kernels run in the interpreter; a second call changes nothing."""
    if not is_active():
        _begin()


def is_active() -> bool:
    return any(isinstance(finder, _Finder) for finder in sys.meta_path)


@contextlib.contextmanager
def activated() -> Generator[None]:
    """Launches inside run in the interpreter; afterwards all is as it was."""
    if is_active():
        yield
        return
    finder = _begin()
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        finder.changes.undo()


def _begin() -> _Finder:
    finder = _Finder()
    sys.meta_path.insert(0, finder)
    for name, change in CHANGED.items():
        if name in sys.modules:
            change(sys.modules[name], finder.changes)
    return finder
