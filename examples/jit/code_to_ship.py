"""A kernel that `explore` found as files that need no Warploom: C with one entry, its header, a Python module."""

import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import warploom as wl

C = """
#include "axpy.h"
#include <stdio.h>

int main(void) {
    static float x[1000], y[1000], z[1000];
    for (int n = 0; n < 1000; ++n) x[n] = n, y[n] = 1;
    if (axpy(2, x, y, z, 2)) return 1;
    printf("from C: %g %g\\n", z[0], z[999]);
}
"""
PYTHON = """
import numpy as np
from axpy import axpy
z = axpy(np.float32(2), np.arange(1000, dtype=np.float32), np.ones(1000, np.float32))
print("from Python:", z[0], z[999])
"""


def main() -> None:
    found = wl.explore("axpy", sizes={"n": 1000}, nodes=5, threads=2)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "kernels"
        for path in found.save_package(folder):
            print(path.name)
        (folder / "main.c").write_text(C)
        compiler = shlex.split(os.environ.get("CC", "cc"))
        flags = ["-std=gnu11", "-O3", "-march=native", "-fopenmp", "-Wno-psabi"]
        subprocess.run([*compiler, *flags, "main.c", "axpy.c", "-o", "main", "-lm"], cwd=folder, check=True)
        print(subprocess.run([folder / "main"], capture_output=True, text=True, check=True).stdout, end="")
        run = [sys.executable, "-c", PYTHON]
        print(subprocess.run(run, cwd=folder, capture_output=True, text=True, check=True).stdout, end="")


if __name__ == "__main__":
    main()
