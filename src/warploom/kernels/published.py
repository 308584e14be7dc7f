"""Figures that Swizzleflow itself took for its benchmarks: the numbers that ours are compared with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Published:
    """One benchmark, all solutions."""

    solutions: int
    cpu_s: float
    """CPU seconds (user and system) of a run without matrices on disk."""


PUBLISHED: Mapping[str, Published] = {
    "sf/trove-8x3": Published(2, 0.0), "sf/hvx-gaussian": Published(4, 0.47), "sf/hvx-gaussian-blocks": Published(0, 0.08),
    "sf/proper-conv-32x3": Published(1, 1.9), "sf/proper-conv-32x3-noprune": Published(1, 4.03),
    "sf/useless-var-test": Published(8, 0.07), "sf/universe-soundness-test": Published(1, 0.0),
    "sf/l1/1d-stencil": Published(1, 1.23), "sf/l1/1d-conv": Published(1, 1.08), "sf/l1/2d-stencil-3": Published(1, 0.04),
    "sf/l1/2d-stencil-5": Published(1, 0.36), "sf/l1/2d-stencil-7": Published(0, 3.99),
    "sf/l1/mult-32-with-4": Published(2, 0.0), "sf/l1/mult-64-with-16": Published(2, 1.11),
    "sf/l1/trove-crc-1": Published(1, 0.0), "sf/l1/trove-rcr-1": Published(32, 0.0), "sf/l1/trove-crc-2": Published(0, 0.41),
    "sf/l1/trove-rcr-2": Published(32, 0.52), "sf/l1/trove-crc-3": Published(2, 1.32), "sf/l1/trove-rcr-3": Published(3, 1.27),
    "sf/l1/trove-crc-4": Published(0, 5.4), "sf/l1/trove-rcr-4": Published(16, 5.25), "sf/l1/trove-crc-5": Published(2, 6.67),
    "sf/l1/trove-rcr-5": Published(3, 7.1), "sf/l1/trove-crc-7": Published(2, 30.63), "sf/l1/trove-rcr-7": Published(3, 38.91),
    "sf/l1/trove-cr_sum-1": Published(1, 0.0), "sf/l1/trove-cr_sum-2": Published(0, 0.42),
    "sf/l1/trove-cr_sum-3": Published(2, 1.06), "sf/l1/trove-cr_sum-4": Published(0, 4.84),
    "sf/l1/trove-cr_sum-5": Published(2, 2.94), "sf/l1/trove-cr_sum-7": Published(2, 7.32),
    "sf/l2/1d-stencil": Published(2, 0.96), "sf/l2/1d-conv": Published(1, 0.98), "sf/l2/2d-stencil-3": Published(4, 0.06),
    "sf/l2/2d-stencil-5": Published(1, 0.57), "sf/l2/2d-stencil-7": Published(4, 81.01),
    "sf/l2/2d-stencil-9": Published(1, 205.62), "sf/l2/mult-32-with-4": Published(2, 0.0),
    "sf/l2/mult-64-with-16": Published(2, 1.45), "sf/l3/1d-stencil": Published(2, 1.33), "sf/l3/1d-conv": Published(1, 1.43),
    "sf/l3/2d-stencil-3": Published(4, 0.05), "sf/l3/2d-stencil-5": Published(1, 0.57),
    "sf/l3/2d-stencil-7": Published(4, 81.53), "sf/l3/2d-stencil-9": Published(1, 201.69),
    "sf/l3/mult-32-with-4": Published(2, 0.0), "sf/l3/mult-64-with-16": Published(2, 1.4),
    "sf/l3/trove-crc-1": Published(1, 0.0), "sf/l3/trove-rcr-1": Published(58, 0.01), "sf/l3/trove-crc-2": Published(0, 0.54),
    "sf/l3/trove-rcr-2": Published(272, 1.99), "sf/l3/trove-crc-3": Published(2, 1.65), "sf/l3/trove-rcr-3": Published(3, 2.03),
    "sf/l3/trove-crc-4": Published(0, 8.67), "sf/l3/trove-rcr-4": Published(128, 12.31), "sf/l3/trove-crc-5": Published(2, 8.76),
    "sf/l3/trove-rcr-5": Published(3, 9.3), "sf/l3/trove-crc-7": Published(2, 37.02), "sf/l3/trove-rcr-7": Published(3, 45.22),
    "sf/l3/trove-crc-9": Published(2, 140.6), "sf/l3/trove-rcr-9": Published(3, 143.38),
    "sf/l3/trove-cr_sum-1": Published(1, 0.0), "sf/l3/trove-cr_sum-2": Published(0, 0.52),
    "sf/l3/trove-cr_sum-3": Published(2, 1.42), "sf/l3/trove-cr_sum-4": Published(0, 5.14),
    "sf/l3/trove-cr_sum-5": Published(2, 4.01), "sf/l3/trove-cr_sum-7": Published(2, 9.13),
    "sf/l3/trove-cr_sum-9": Published(2, 46.77), "sf/l3/trove-cr_sum-11": Published(2, 30.33),
    "sf/l3/trove-cr_sum-13": Published(2, 41.25), "sf/l3/1d-conv-5": Published(1, 4.83), "sf/l3/1d-conv-7": Published(1, 12.0),
    "sf/l3/1d-conv-9": Published(1, 49.17), "sf/l3/1d-conv-11": Published(1, 29.03), "sf/l3/1d-conv-13": Published(1, 40.81),
    "sf/l1/mult-64-with-16-shared": Published(8, 4728.0),
}  # fmt: skip
"""Cases by our names for them.

Source: the authors' tool, version 0.6.0, all solutions, measured on one core of a busy machine with two, so that a number may be
up to 35% too large; cases with several runs have the first. The shared-memory multiplication is the search alone, from the
authors' log of 2020. `sf/hvx-gaussian-blocks` has 4 solutions, of which the tool finds none.
"""
