"""CUB: a functor for `cub::DeviceScan`, compiled with CCCL's headers; its block scan is run and compared with the loop."""

from falls import fall

import warploom as wl

made = wl.lift(fall).emit("cub")
print("struct Combine" in made.source, "DeviceScan::InclusiveScan" in made.source)
print(made.verdict, made.status)
