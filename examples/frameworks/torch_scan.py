"""PyTorch: the operator inside `associative_scan`, and the loop as a custom operator of tensors on a CPU."""

from functools import reduce

import torch
from falls import fall
from torch._higher_order_ops.associative_scan import associative_scan

import warploom as wl

lifted = wl.lift(fall)
names = {"max": lambda *values: reduce(torch.maximum, map(torch.as_tensor, values)), "inf": float("inf")}
for text in (lifted.element, lifted.operator, lifted.projection):
    exec(text, names)


def falls_so_far(prices: torch.Tensor) -> torch.Tensor:
    """For every price the largest fall up to it, scanned along the tensor."""
    values = tuple(torch.as_tensor(part).expand_as(prices).contiguous() for part in names["lift"](prices))
    return names["projection"](associative_scan(names["operator"], values, 0, combine_mode="generic"))


compiled = wl.scanned(fall)


@torch.library.custom_op("warploom::fall", mutates_args=())
def largest_fall(prices: torch.Tensor) -> torch.Tensor:
    return torch.tensor(int(compiled(prices.numpy())))


@largest_fall.register_fake
def _(prices: torch.Tensor) -> torch.Tensor:
    return prices.new_empty(())


prices = torch.randint(1, 1000, (3000,), generator=torch.Generator().manual_seed(0))
wanted = [fall(prices[: n + 1].tolist()) for n in range(0, 3000, 97)]
print("as the loop:", falls_so_far(prices)[::97].tolist() == wanted)
print("as an operator of PyTorch:", int(torch.ops.warploom.fall(prices)) == fall(prices.tolist()))
torch.library.opcheck(largest_fall, (prices,))
