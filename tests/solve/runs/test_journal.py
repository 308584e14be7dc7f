"""The journal and the event log under damage, several writers and kill -9."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from warploom.core import UserError
from warploom.solve import Event, EventLog, Journal, emit, problem_key, read_events, source_digest

WRITER = """
import sys
from pathlib import Path
from warploom.solve import Journal
journal, name, count = Journal(Path(sys.argv[1])), sys.argv[2], int(sys.argv[3])
for number in range(count):
    journal.add(f"{name}-{number}", {"number": number, "text": "x" * 50 * (number % 7)})
    print(number, flush=True)
"""


def writer(path: Path, name: str, count: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, str(path), name, str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_what_is_added_is_found_again(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    journal = Journal(path)
    assert (journal.find("a"), len(journal), "a" in journal) == (None, 0, False)
    journal.add("a", {"lines": [1, 2.5, "×", "\n", None, True]})
    journal.add("b", None)
    journal.add("a", "again")
    for reader in (journal, Journal(path)):
        assert (reader.find("a"), reader.find("b"), "b" in reader) == ("again", None, True)
        assert reader.keys() == ("a", "b")
        assert reader.damage == ()


def test_a_reader_finds_what_another_writer_adds(tmp_path: Path) -> None:
    first, second = Journal(tmp_path / "journal"), Journal(tmp_path / "journal")
    for number in range(3):
        first.add(f"first {number}", number)
        second.add(f"second {number}", number)
        assert second.find(f"first {number}") == first.find(f"second {number}") == number
    assert len(first) == len(second) == 6


@pytest.mark.parametrize("tail", ['{"key": "cut sh', '{"key": "cut", "value": "\xff', '{"key"', "{"])
def test_a_last_line_cut_short(tmp_path: Path, tail: str) -> None:
    path = tmp_path / "journal"
    Journal(path).add("a", 1)
    with path.open("ab") as file:
        file.write(tail.encode("latin-1"))
    again = Journal(path)
    assert (again.keys(), again.damage) == (("a",), ())
    again.add("b", 2)
    last = Journal(path)
    assert (last.find("a"), last.find("b")) == (1, 2)
    assert [d.span.line for d in last.damage] == [2]


def test_a_last_line_without_its_line_break_counts(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    path.write_text('{"key": "a", "value": 1}')
    journal = Journal(path)
    assert journal.find("a") == 1
    journal.add("b", 2)
    assert (Journal(path).keys(), Journal(path).damage) == (("a", "b"), ())


@pytest.mark.parametrize(
    "bad", [b"\0\0\0\0", b"[" * 100_000, b'{"key": 3, "value": 1}', b'{"value": 1}', b"7", b"\xff\xfe", b"NaN"]
)
def test_damage_in_the_middle_costs_one_line(tmp_path: Path, bad: bytes) -> None:
    path = tmp_path / "journal"
    journal = Journal(path)
    journal.add("a", 1)
    with path.open("ab") as file:
        file.write(bad + b"\n")
    journal.add("b", 2)
    again = Journal(path)
    assert (again.find("a"), again.find("b"), len(again)) == (1, 2, 2)
    (damage,) = again.damage
    assert damage.render().startswith(f"{path}:2:1: error[JOURNAL_DAMAGED]: expected")


def test_a_new_file_under_the_old_name(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    journal = Journal(path)
    journal.add("a", 1)
    path.unlink()
    assert journal.find("b") is None
    Journal(path).add("b", 2)
    assert (journal.find("a"), journal.find("b")) == (1, 2)


def test_paths_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path, tmp_path / "missing" / "journal", tmp_path / "file" / "journal"):
        with pytest.raises(UserError, match=r"error\[JOURNAL_UNUSABLE\]: expected a file") as raised:
            Journal(path)
        assert raised.value.diagnostics[0].span.file == str(path)


def test_a_full_disk() -> None:
    journal = Journal(Path("/dev/full"))
    with pytest.raises(UserError, match="No space left"):
        journal.add("a", 1)


@pytest.mark.parametrize("content", [b"no line break", b"\x80\x04pickle", b'{"v": 1'])
def test_a_file_of_another_kind_without_a_line_break(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "notes"
    path.write_bytes(content)
    with pytest.raises(UserError, match="JOURNAL_UNUSABLE"):
        Journal(path)
    assert path.read_bytes() == content
    for cut in (b'{"ke', b'{"key": "a", "val'):
        path.write_bytes(cut)
        assert Journal(path).keys() == ()


def test_a_file_of_another_kind_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "sketch.py"
    path.write_text("import warploom\n")
    with pytest.raises(UserError, match=r"sketch\.py:1:1: error\[JOURNAL_UNUSABLE\]"):
        Journal(path)
    assert path.read_text() == "import warploom\n"


def test_values_that_are_no_json_are_not_written(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal")
    with pytest.raises(ValueError, match="JSON compliant"):
        journal.add("a", float("nan"))
    with pytest.raises(TypeError):
        journal.add("a", {1})  # pyright: ignore[reportArgumentType]
    assert Journal(journal.path).keys() == ()


def test_several_writers_one_killed(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    killed, *whole = [writer(path, name, count) for name, count in (("a", 100_000), ("b", 150), ("c", 150))]
    assert killed.stdout is not None
    confirmed = [int(killed.stdout.readline()) for _ in range(40)]
    os.kill(killed.pid, signal.SIGKILL)
    confirmed += [int(line) for line in killed.communicate()[0].splitlines()]
    for process in whole:
        process.communicate()
        assert process.returncode == 0
    journal = Journal(path)
    expected = {f"a-{number}" for number in confirmed} | {f"{name}-{number}" for name in "bc" for number in range(150)}
    # The killed writer may have written one line that it could not confirm.
    assert expected <= set(journal.keys()) and len(journal) <= len(expected) + 1
    assert all(journal.find(f"b-{number}") == {"number": number, "text": "x" * 50 * (number % 7)} for number in range(150))
    assert journal.damage == ()


def test_events(tmp_path: Path) -> None:
    path = tmp_path / "events"
    log = EventLog(path)
    emit(log.write, "started", key="a")
    emit(None, "nobody listens")
    with path.open("a") as file:
        file.write("no event\n")
    log.write(Event(7.25, "worker died", {"reason": "signal 9"}))
    first, second = read_events(path)
    assert (first.kind, first.fields) == ("started", {"key": "a"}) and first.time > 1.7e9
    assert second == Event(7.25, "worker died", {"reason": "signal 9"})


@pytest.mark.parametrize("act", [lambda path: read_events(path), lambda path: emit(EventLog(path).write, "started")])
def test_events_that_cannot_be_kept(tmp_path: Path, act: Callable[[Path], object]) -> None:
    with pytest.raises(UserError, match="EVENTS_UNUSABLE"):
        act(tmp_path)


def test_keys() -> None:
    assert problem_key(("a", {"x": 1, "y": (2, 3)})) == problem_key(["a", {"y": [2, 3], "x": 1}])
    others = [1, "1", 1.0, True, [1], None, {"1": 1}]
    assert len({problem_key(other) for other in others}) == len(others)
    assert len(source_digest()) == 64


def test_what_another_process_added_is_found(tmp_path: Path) -> None:
    one, other = Journal(tmp_path / "j"), Journal(tmp_path / "j")
    assert "k" not in one
    other.add("k", 3)
    assert "k" in one and "l" not in one
