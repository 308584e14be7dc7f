"""The kernels that `warploom bench schedule` measures by suites, apart from those that one explores by name: only it needs them.

Takes nothing. Gives `POLYBENCH` and `NETWORKS`, each kernel by its name with three sets of sizes. Open `measured.py` first.
"""

from warploom.kernels.suites.measured import NETWORKS, POLYBENCH

__all__ = ["NETWORKS", "POLYBENCH"]
