"""Tasks that workers run in the tests of the executor."""

import os
import signal
import time
from pathlib import Path


def square(number: int) -> int:
    return number * number


def square_unless_odd(number: int) -> int:
    if number % 2:
        raise ValueError(f"{number} is odd")
    return number * number


def die(number: int) -> int:
    """Kills its worker on every multiple of 3."""
    if number % 3 == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return number * number


def die_once(marker: str) -> str:
    """Kills its worker if the file `marker` is not there yet."""
    path = Path(marker)
    if not path.exists():
        path.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return path.name


def logged(argument: tuple[str, int]) -> int:
    """Appends the number to a file, so that a test sees what was run, how often."""
    path, number = argument
    with open(path, "a") as file:
        file.write(f"{number}\n")
    time.sleep(0.01)
    return number


def wait_for(marker: str) -> str:
    """Until there is a file `marker`."""
    while not Path(marker).exists():
        time.sleep(0.005)
    return Path(marker).name


def logged_from_30_on_when_told(argument: tuple[str, int]) -> int:
    """As `logged`; from number 30 on only once there is a file `go` beside it."""
    path, number = argument
    if number >= 30:
        wait_for(str(Path(path).with_name("go")))
    return logged(argument)


def nap(seconds: float) -> float:
    time.sleep(seconds)
    return seconds


def large(megabytes: int) -> int:
    return len(bytearray(megabytes << 20)) >> 20


def no_json(number: int) -> object:
    return {number} if number == 1 else number


def exit_with(code: int) -> None:
    raise SystemExit(code)
