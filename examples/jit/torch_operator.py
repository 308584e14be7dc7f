"""A kernel that `explore` found as a PyTorch operator, with fake tensors for `torch.compile`; it has no gradients."""

import sys
import tempfile
from pathlib import Path

import torch

import warploom as wl


def main() -> None:
    found = wl.explore("axpy", sizes={"n": 1000}, nodes=5)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "kernels"
        found.save_package(folder)
        sys.path.insert(0, str(folder))
        import axpy_torch  # noqa: F401 (its import makes the operator)

        x, y = torch.arange(1000.0), torch.ones(1000)
        z = torch.ops.warploom.axpy(2.0, x, y)
        print("as PyTorch's:", torch.equal(z, 2.0 * x + y))
        torch.library.opcheck(torch.ops.warploom.axpy.default, (2.0, x, y))
        print("the fake tensors fit")


if __name__ == "__main__":
    main()
