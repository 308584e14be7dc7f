"""`wl.load_kernel`: a kernel that was explored or completed and saved, to be called again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from warploom.api.result import Result
from warploom.gpu import SketchCalls
from warploom.schedule.calls import Calls, GpuCalls
from warploom.tools.kernels.files import loaded


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class LoadedKernel(Result):
    """A saved kernel; its fields are those of the result that was saved."""

    calls: Calls | GpuCalls | SketchCalls
    """Checks the arguments and runs the kernel."""
    path: Path
    """The file, from which copies in other processes are loaded again."""

    @property
    def text(self) -> str:
        """How it is called: `product(A, B, [C])`."""
        return self.calls.text

    def __reduce__(self) -> tuple[Callable[[Path], LoadedKernel], tuple[Path]]:
        return load_kernel, (self.path,)

    def __call__(self, *arrays: Any, **named: Any) -> Any:
        """Runs the kernel as the result that was saved does."""
        return self.calls(arrays, named)


def load_kernel(path: str | Path) -> LoadedKernel:
    """The kernel that `save` of an explored result or a completed sketch wrote as `.kernel`: compiled for this machine, or where
    it is first called on a GPU.

    The file holds code that is compiled and run: load only files whose code you would run. Raises UserError (KERNEL_FILE) for a
    file of another kind, and for one that was changed.
    """
    calls, line = loaded(Path(path))
    return LoadedKernel(line=dict(line), calls=calls, path=Path(path).absolute())
