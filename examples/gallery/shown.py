"""The lines that every script of the gallery prints of its answer, and the place of its picture."""

import os
from pathlib import Path

import warploom as wl


def show(done: wl.Completed, picture: str = "") -> None:
    """Verdict, holes, counts; a picture, if it gets a name, into the folder that WARPLOOM_PICTURES names (`make gallery`)."""
    print(f"{done.status}, {done.verdict} over {done.line['domain']}")
    for hole, text in done.holes.items():
        print(f"  {hole} = {text}")
    shuffles = done.cuda.count("__shfl")
    print(f"  {done.line['executed']} accumulates a thread, index cost {done.line['cost']}, {shuffles} shuffles in the text")
    folder = os.environ.get("WARPLOOM_PICTURES")
    if folder and picture:
        done.save(Path(folder) / f"{picture}.svg")
