"""Names and budgets of the cases of `warploom bench schedule`, apart from what runs them."""

from __future__ import annotations

SPACES = ("axpy", "matmul-256x256x32", "matmul-1024", "strided-matmul")
"""Spaces of the paper's Tables 2 and 3."""

TABLE_NAMES = (
    *(f"table2/{name}" for name in SPACES),
    "table2/root-axpy",
    *(f"table3/{name}" for name in SPACES),
    "table3/order",
    "speed/descent",
)
TABLE_S = {"table2": 120.0, "table3": 600.0, "speed": 10.0}
"""CPU seconds of a case; of `table3/order`, of each order."""

SEARCH_NODES = {"axpy": 4_000, "matmul-256x256x32": 12_000, "matmul-1024": 12_000, "strided-matmul": 12_000}
"""Budget of a search of each space."""
SEED_COUNT = 5
SEARCH_NAMES = tuple(f"search/{name}-{search}" for name in SPACES for search in ("refine", "mcts"))

CPU_BARRED = ("matmul-1024", "matvec", "gesummv", "atax", "matmul-strided", "matmul-batched", "stencil3d")
CPU_MORE = ("softmax", "layer_norm", "dot", "axpy", "conv2d", "matmul_i8", "matmul_bf16")
"""Kernels without a bar."""
SEEDS_NAME = "cpu/seeds"
"""One product, searched with three seeds."""
SEEDS = 3
CPU_NAMES = (*(f"cpu/{name}" for name in (*CPU_BARRED, *CPU_MORE)), SEEDS_NAME)

POLYBENCH = (
    "gemm", "2mm", "3mm", "atax", "bicg", "mvt", "gemver", "gesummv", "syrk", "syr2k", "doitgen", "jacobi1d", "jacobi2d",
    "heat3d", "covariance",
)  # fmt: skip
NETWORKS = (
    "linear_relu", "gelu", "softmax", "layer_norm", "rms_norm", "conv2d", "depthwise", "conv2d_strided", "max_pool", "attention",
)  # fmt: skip
SUITE_SIZES = ("small", "medium", "large")
SUITE_NAMES = tuple(
    f"{group}/{kernel}-{size}"
    for group, kernels in (("polybench", POLYBENCH), ("nn", NETWORKS))
    for kernel in kernels
    for size in SUITE_SIZES
)

GPU_NAMES = tuple(
    f"gpu/{name}"
    for name in (
        "matmul-1024", "matmul-256x256x32", "matmul-strided", "axpy", "dot", "sum", "max", "layer_norm-8", "conv2d-3x3",
        "conv2d-7x7",
    )
)  # fmt: skip
SEARCH_S = 60.0
"""Wall seconds of a search on the CPU or a GPU."""
