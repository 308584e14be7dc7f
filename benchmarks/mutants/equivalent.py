"""Planted bugs that change no answer, by key, with the reason."""

_RACES = "src/warploom/ptx/simt/races.py:_conflicts:refusal:"

EQUIVALENT: dict[str, str] = {
    f"{_RACES}region is machine.shared and not bool(((marks & _T..589736b8 -> False:0": (
        "Leaves early: marks in shared memory are of the block's own threads, and all that are older than the last barrier of "
        "every block are found to be ordered further down."
    ),
    f"{_RACES}not candidates.any() -> False:0": "Leaves early: without candidates no position is left, and none is found below.",
}
