"""The result cache: several writers, kill -9, damage of all kinds, places that cannot be written."""

import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from warploom.core.private import default_cache_path
from warploom.solve import Event, ResultCache
from warploom.solve.runs import cache

WRITER = """
import sys
from pathlib import Path
from warploom.solve import ResultCache
with ResultCache(Path(sys.argv[1]), print) as cache:
    for number in range(int(sys.argv[3])):
        cache.add(f"{sys.argv[2]}-{number}", {"number": number, "text": "x" * 500})
        cache.add("shared", [number] * 50)
        assert cache.find("shared")
        print(number, flush=True)
"""


def writer(path: Path, name: str, count: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, str(path), name, str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def filled(path: Path, count: int) -> None:
    with ResultCache(path) as results:
        for number in range(count):
            results.add(f"key {number}", {"text": f"value {number} " * 20})


def test_what_is_added_is_found_again(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "results.sqlite"
    value = {"m": 3, "composition": ["×", None, 1.5, True]}
    with ResultCache(path) as first, ResultCache(path) as second:
        assert first.find("a") is None
        first.add("a", 1)
        first.add("a", value)
        assert first.find("a") == second.find("a") == value
    with ResultCache(path) as again:
        assert again.find("a") == value
        again.close()
        assert again.find("a") == value


def test_values_that_are_no_json(tmp_path: Path) -> None:
    with ResultCache(tmp_path / "results") as results:
        with pytest.raises(ValueError, match="JSON compliant"):
            results.add("a", float("inf"))
        assert results.find("a") is None


def test_several_writers_one_killed(tmp_path: Path) -> None:
    path = tmp_path / "results"
    killed, *whole = [writer(path, name, count) for name, count in (("a", 100_000), ("b", 200), ("c", 200))]
    assert killed.stdout is not None
    confirmed = [int(killed.stdout.readline()) for _ in range(50)]
    os.kill(killed.pid, signal.SIGKILL)
    confirmed += [int(line) for line in killed.communicate()[0].splitlines()]
    for process in whole:
        output, _ = process.communicate()
        assert (process.returncode, output.split()) == (0, [str(number) for number in range(200)])
    events: list[Event] = []
    with ResultCache(path, events.append) as results:
        assert all(results.find(f"a-{number}") == {"number": number, "text": "x" * 500} for number in confirmed)
        assert all(results.find(f"{name}-{number}") is not None for name in "bc" for number in range(200))
    assert events == []
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()


@pytest.mark.parametrize("content", [b"no database" * 500, b"SQLite format 3\0" + bytes(5000), b"\0" * 100])
def test_a_file_that_is_no_database(tmp_path: Path, content: bytes) -> None:
    path, events = tmp_path / "results", list[Event]()
    path.write_bytes(content)
    with ResultCache(path, events.append) as results:
        assert results.find("a") is None
        results.add("a", 1)
        assert results.find("a") == 1
    (event,) = events
    assert event.kind == "cache damaged"
    assert Path(str(event.fields["kept"])).read_bytes() == content


def test_another_programs_database(tmp_path: Path) -> None:
    path, events = tmp_path / "results", list[Event]()
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE results (something INTEGER)")
    connection.close()
    with ResultCache(path, events.append) as results:
        results.add("a", 1)
        assert results.find("a") == 1
    assert [event.kind for event in events] == ["cache damaged"]


@pytest.mark.parametrize("seed", range(12))
def test_damaged_pages_never_become_answers(tmp_path: Path, seed: int) -> None:
    path, chance = tmp_path / "results", random.Random(seed)
    filled(path, 60)
    data = bytearray(path.read_bytes())
    if seed % 3 == 0:
        del data[chance.randrange(1, len(data)) :]
    else:
        for _ in range(1 if seed % 3 == 1 else 2000):
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    path.write_bytes(data)
    with ResultCache(path) as results:
        for number in range(60):
            assert results.find(f"key {number}") in (None, {"text": f"value {number} " * 20})
            results.add(f"key {number}", number)
        assert results.find("key 59") in (None, 59)


def test_damage_found_by_several_at_once(tmp_path: Path) -> None:
    path, events = tmp_path / "results", list[Event]()
    path.write_bytes(b"no database" * 500)
    caches = [ResultCache(path, events.append) for _ in range(4)]
    threads = [threading.Thread(target=results.add, args=(str(place), place)) for place, results in enumerate(caches)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for results in caches:
        results.close()
    with ResultCache(path) as results:
        assert [results.find(str(place)) for place in range(4)] == [0, 1, 2, 3]
    assert [event.kind for event in events] == ["cache damaged"]


@pytest.mark.parametrize("name", ["", "file/results", "/dev/null/results", "/proc/results"])
def test_places_that_cannot_be_used(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("")
    events: list[Event] = []
    with ResultCache(tmp_path / name, events.append) as results:
        results.add("a", 1)
        assert results.find("a") is None
    assert [event.kind for event in events] == ["cache unusable"]


def test_a_folder_that_is_everybodys_or_anothers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, events = tmp_path / "cache", list[Event]()
    with ResultCache(folder / "results", events.append) as results:
        results.add("a", 1)
    assert folder.stat().st_mode & 0o777 == 0o700 and events == []
    folder.chmod(0o777)
    with ResultCache(folder / "results", events.append) as results:
        assert results.find("a") is None
    folder.chmod(0o700)
    user = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: user + 1)
    with ResultCache(folder / "results", events.append) as results:
        assert results.find("a") is None
    assert [event.kind for event in events] == ["cache unusable"] * 2
    everybodys, anothers = (str(event.fields["reason"]) for event in events)
    assert "everybody can" in everybodys and "got another's" in anothers


def test_a_lock_file_that_is_a_link(tmp_path: Path) -> None:
    folder, events = tmp_path / "cache", list[Event]()
    folder.mkdir()
    (folder / "results.lock").symlink_to(tmp_path / "theirs")
    with ResultCache(folder / "results", events.append) as results:
        results.add("a", 1)
    assert [event.kind for event in events] == ["cache unusable"] and not (tmp_path / "theirs").exists()


def test_a_writer_that_holds_the_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "_BUSY_S", 0.05)
    path, events = tmp_path / "results", list[Event]()
    filled(path, 1)
    other = sqlite3.connect(path, isolation_level=None)
    with ResultCache(path, events.append) as results:
        assert results.find("key 0") is not None
        other.execute("BEGIN IMMEDIATE")
        results.add("b", 2)
        assert results.find("key 0") is not None
        other.execute("ROLLBACK")
        results.add("c", 3)
        assert (results.find("b"), results.find("c")) == (None, 3)
    other.close()
    assert [event.kind for event in events] == ["cache busy"]


def test_results_of_other_sources_leave_after_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "results"
    filled(path, 2)
    monkeypatch.setattr(cache, "source_digest", lambda: "another")
    with ResultCache(path) as results:
        assert results.find("key 1") is not None
    monkeypatch.setattr(cache, "_KEEP_S", -1.0)
    with ResultCache(path) as results:
        assert results.find("key 1") is None


def test_the_default_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WARPLOOM_CACHE", "off")
    assert default_cache_path() is None
    monkeypatch.setenv("WARPLOOM_CACHE", str(tmp_path))
    assert default_cache_path() == tmp_path / "results.sqlite"
    monkeypatch.delenv("WARPLOOM_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_cache_path() == tmp_path / "warploom" / "results.sqlite"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_cache_path() == tmp_path / ".cache" / "warploom" / "results.sqlite"
