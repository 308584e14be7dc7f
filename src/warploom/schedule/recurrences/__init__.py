"""Running results: functions whose loops hand values from an element to the next.

Takes a Python function with such a loop. Gives a `Recurrence`, the text of the serial loop that `scan` lifts (`serial_loop`), its
nest for C and CUDA, and runners of calls. Open `tree.py` first, then `reader.py`.

Goal: what tensor functions cannot say is called all the same, and handed to `scan`. Non-goals: a search, since the loop has an
order.
"""

from warploom.schedule.recurrences.loop import SerialLoop, serial_loop
from warploom.schedule.recurrences.nest import serial_nest
from warploom.schedule.recurrences.reader import read_recurrence
from warploom.schedule.recurrences.runners import EvaluatedRecurrence, ScanRunner, SerialLoops, program_of, scan_runner
from warploom.schedule.recurrences.statements import is_recurrence
from warploom.schedule.recurrences.tree import Recurrence, RunningHolder

__all__ = [
    "EvaluatedRecurrence", "Recurrence", "RunningHolder", "ScanRunner", "SerialLoop", "SerialLoops", "is_recurrence",
    "program_of", "read_recurrence", "scan_runner", "serial_loop", "serial_nest",
]  # fmt: skip
