"""The example of a user's kernel prints what its `.out` file holds."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[3]
SCRIPT = ROOT / "examples/schedule/my_kernel.py"


def test_output(golden: Callable[[Path, str], None]) -> None:
    done = subprocess.run([sys.executable, "-W", "error", SCRIPT], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    golden(SCRIPT.with_suffix(".out"), done.stdout)
