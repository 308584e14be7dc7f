from .loop import SerialLoop, serial_loop
from .nest import serial_nest
from .reader import read_recurrence
from .runners import EvaluatedRecurrence, ScanRunner, SerialLoops, program_of, scan_runner
from .statements import is_recurrence
from .tree import Recurrence, RunningHolder

__all__ = [
    "EvaluatedRecurrence", "Recurrence", "RunningHolder", "ScanRunner", "SerialLoop", "SerialLoops", "is_recurrence",
    "program_of", "read_recurrence", "scan_runner", "serial_loop", "serial_nest",
]  # fmt: skip
