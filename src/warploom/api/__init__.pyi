from .completing import Completed, complete
from .exchanges import Exchanged, exchange
from .exploring import Explored, explore
from .jitting import JitFunction, jit
from .layouts import Laid, check_layout, layout
from .lifting import CheckedOperator, Emitted, Lifted, check_operator, lift
from .loading import LoadedKernel, load_kernel
from .ptx_files import ProvedPtx, RanPtx, ShuffledPtx, prove_ptx, run_ptx, shuffle_ptx
from .result import Progress, Result
from .running import RunningFunction, RunningScan
from .scanning import ScannedFunction, scanned
from .solving import Solved, solve

__all__ = [
    "CheckedOperator",
    "Completed",
    "Emitted",
    "Exchanged",
    "Explored",
    "JitFunction",
    "Laid",
    "Lifted",
    "LoadedKernel",
    "Progress",
    "ProvedPtx",
    "RanPtx",
    "Result",
    "RunningFunction",
    "RunningScan",
    "ScannedFunction",
    "ShuffledPtx",
    "Solved",
    "check_layout",
    "check_operator",
    "complete",
    "exchange",
    "explore",
    "jit",
    "layout",
    "lift",
    "load_kernel",
    "prove_ptx",
    "run_ptx",
    "scanned",
    "shuffle_ptx",
    "solve",
]
