"""Device-wide kernels on a CUDA device."""

import numpy as np
import pytest

from warploom import scan
from warploom.gpu import compile_cuda, device_arch, launch
from warploom.scan.emit import cuda_scan
from warploom.scan.tasks import loops_module

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("count", [1, 1000, 1_000_003])
def test_scan_of_a_whole_array(count: int) -> None:
    found = scan.lift(scan.read_loop(loops_module(), "max_segment_sum")).operator
    assert found is not None
    made = cuda_scan(found)
    compiled = compile_cuda(made.source, device_arch())
    given = np.random.default_rng(count).integers(-9, 9, count).astype(np.int32)
    out = np.zeros_like(given)
    tiles = -(-count // made.tile)
    control, values = np.zeros(tiles + 1, np.uint32), np.zeros(tiles * made.value_bytes, np.uint8)
    arrays = [given, out, control, values, values.copy()]
    launch(compiled, "scan_device", (tiles, 1, 1), (made.choices.threads, 1, 1), arrays, [np.int64(count)])
    sums = np.concatenate([[0], np.cumsum(given, dtype=np.int64)])
    expected = np.maximum.accumulate(sums - np.minimum.accumulate(sums))[1:]
    assert (out == expected).all()
