"""Triton: a `combine` for `tl.associative_scan` over tuples, compiled by Triton, run and compared with the loop."""

from falls import fall

import warploom as wl

made = wl.lift(fall).emit("triton")
print("tl.associative_scan(" in made.source)
print(made.verdict, made.status)
