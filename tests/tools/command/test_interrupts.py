"""SIGINT reaches the program also where C drops what is raised, and only once."""

import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import FrameType

import numpy as np
import pytest

from warploom.tools.command import interrupts
from warploom.tools.command.interrupts import Interrupts, heard, is_dropped, stack_of

MOST_S = 60
"""Longest wait for something that comes at once."""


class _Asked(type):
    """A class whose attributes NumPy looks up, and drops what that raises."""

    call: Callable[[], object] | None = None

    def __getattr__(cls, name: str) -> object:
        call, _Asked.call = _Asked.call, None
        if call is not None:
            call()
        raise AttributeError(name)


class _Number(int, metaclass=_Asked):
    pass


def dropping(call: Callable[[], object]) -> bool:
    """Calls it where an exception reaches nobody."""
    _Asked.call = call
    return bool(np.int64(3) == _Number(3)) and _Asked.call is None


class Ending:
    def __del__(self) -> None:
        signal.raise_signal(signal.SIGINT)


def ended() -> bool:
    Ending()
    return True


@pytest.mark.parametrize("dropped", [lambda: dropping(lambda: signal.raise_signal(signal.SIGINT)), ended], ids=["c", "end"])
@pytest.mark.parametrize("context", [Interrupts, heard])
def test_an_interruption_that_c_drops_is_raised_again(context: type[Interrupts], dropped: Callable[[], bool]) -> None:
    went_on = False
    with pytest.raises(KeyboardInterrupt), context():
        went_on = dropped()
        threading.Event().wait(MOST_S)
    assert went_on


def raising(error: BaseException, stacks: list[list[FrameType]]) -> None:
    stacks.append(stack_of(sys._getframe()))
    raise error


def in_generator(error: BaseException, stacks: list[list[FrameType]]) -> Iterator[int]:
    yield 1
    raising(error, stacks)
    yield 2


@pytest.mark.parametrize("call", [
    lambda e, s: raising(e, s),
    lambda e, s: sorted([1, 2], key=lambda _: raising(e, s)),
    lambda e, s: list(in_generator(e, s)),
    lambda e, s: dropping(lambda: None) and raising(e, s),
], ids=["call", "through c", "generator", "after a drop"])  # fmt: skip
def test_what_is_caught_is_not_dropped(call: Callable[..., object]) -> None:
    error, stacks = KeyboardInterrupt(), list[list[FrameType]]()
    with suppress(KeyboardInterrupt):
        call(error, stacks)
    assert len(stacks) == 1 and not is_dropped(error, stacks[0])


def test_what_is_dropped() -> None:
    error, stacks = KeyboardInterrupt(), list[list[FrameType]]()
    assert dropping(lambda: raising(error, stacks)) and is_dropped(error, stacks[0])
    assert is_dropped(KeyboardInterrupt(), stacks[0])  # never raised: where it would have been lost


def test_what_leaves_the_program_is_not_dropped() -> None:
    error, stacks = KeyboardInterrupt(), list[list[FrameType]]()
    with pytest.raises(KeyboardInterrupt):
        raising(error, stacks)
    assert error.__traceback__ is not None
    outermost = error.__traceback__.tb_frame
    assert not is_dropped(error, stacks[0][: stacks[0].index(outermost) + 1])


def test_interruptions_of_programs_that_handle_them_are_theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    before = signal.signal(signal.SIGINT, lambda number, frame: None)
    try:
        own = signal.getsignal(signal.SIGINT)
        with heard():
            assert signal.getsignal(signal.SIGINT) is own
    finally:
        signal.signal(signal.SIGINT, before)
    with heard():
        assert signal.getsignal(signal.SIGINT) is not before
        monkeypatch.setattr(interrupts.threading, "current_thread", lambda: None)
        outer = signal.getsignal(signal.SIGINT)
        with heard():
            assert signal.getsignal(signal.SIGINT) is outer
    assert signal.getsignal(signal.SIGINT) is before


TWICE = """
import signal
import subprocess
from warploom.tools.command.interrupts import Interrupts
with Interrupts():
    try:
        signal.raise_signal(signal.SIGINT)
    except KeyboardInterrupt:
        print("once", flush=True)
    signal.raise_signal(signal.SIGINT)
    print("twice")
"""


def test_the_second_one_ends_a_command_at_once() -> None:
    done = subprocess.run([sys.executable, "-c", TWICE], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (-signal.SIGINT, "once\n")
