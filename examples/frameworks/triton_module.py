"""Triton: the module for whole arrays, and its `combine` for `tl.associative_scan`, run and compared with the loop.

With a GPU, the arrays are tensors of torch on it. Here launches run in Warploom's interpreter, which takes NumPy's arrays, too.
"""

import importlib.util
import os
import sys
import tempfile
from pathlib import Path

os.environ["WARPLOOM_RUN"] = "1"  # before warploom is imported; leave it out where there is a GPU

import numpy as np
from falls import fall

import warploom as wl

made = wl.lift(fall).emit("triton")
print(made.verdict, made.status)
with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "fall_triton.py"
    file.write_text(made.source)  # Triton reads its kernels from a file
    spec = importlib.util.spec_from_file_location("fall_triton", file)
    module = importlib.util.module_from_spec(spec)
    sys.modules["fall_triton"] = module
    spec.loader.exec_module(module)

    prices = np.random.default_rng(1).integers(0, 1000, 700, dtype=np.int32)
    falls = module.scan_array(prices, BLOCK=128, STEP=16)
    print([int(falls[n]) == fall(prices[: n + 1].tolist()) for n in (0, 127, 128, 699)])
    print(module.reduce_array(prices, BLOCK=128, STEP=16).tolist() == [fall(prices.tolist())])
