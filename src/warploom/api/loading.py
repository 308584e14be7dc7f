"""`wl.load_kernel`: a kernel that was explored and saved, to be called again."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from warploom.api.result import Result
from warploom.schedule.calls import Calls
from warploom.tools.kernels.files import loaded


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class LoadedKernel(Result):
    """A saved kernel; its fields are those of the result that was saved."""

    calls: Calls
    """Checks the arguments and runs the kernel."""

    @property
    def text(self) -> str:
        """How it is called: `product(A, B, [C])`."""
        return self.calls.signature.text

    def __call__(self, *arrays: Any, **named: Any) -> Any:
        """Runs the kernel on arrays of its sizes, as functions of `wl.jit` are called."""
        return self.calls(arrays, named)


def load_kernel(path: str | Path) -> LoadedKernel:
    """The CPU kernel that `save` of an explored result wrote as `.kernel`, compiled for this machine.

    The file holds C that is compiled and run: load only files whose code you would run. Raises UserError (KERNEL_FILE) for a file
    of another kind, and for one that was changed.
    """
    signature, runner, line = loaded(Path(path))
    return LoadedKernel(line=dict(line), calls=Calls(signature, lambda _: runner))
