"""Log files in parallel pieces: automata, brackets and sessions, from the loops one writes serially (scan/real_life.py)."""

import tempfile
from pathlib import Path

from warploom import scan
from warploom.scan.parallel import map_reduce, map_scan, text_lines
from warploom.solve import process_executor

LOOPS = scan.read_module(Path(__file__).parent / "scan" / "real_life.py")
LEVELS = {"DEBUG": 0, "INFO": 1, "WARN": 2, "ERROR": 3}


def lifted(name: str) -> scan.Lifting:
    found = scan.lift(scan.read_loop(LOOPS, name), scan.user_function(LOOPS, name))
    print(f"{name}: {found.verdict} over {found.domain}")
    return found


def level(line: str) -> int | None:
    """The level of a line of a log; lines without one are skipped."""
    word = line.split(" ", 2)[1] if line.count(" ") > 1 else ""
    return LEVELS.get(word)


def log(lines: int) -> str:
    words = ["INFO", "ERROR", "ERROR", "WARN", "ERROR", "DEBUG", "ERROR", "ERROR", "ERROR"]
    return "".join(f"12:00:{n % 60:02} {words[n * n % 9]} request {n} took {n % 7} ms\n" for n in range(lines))


def main() -> None:
    bursts = lifted("error_bursts")
    with tempfile.TemporaryDirectory() as folder, process_executor(2) as workers:
        paths = [Path(folder) / "a.log", Path(folder) / "b.log"]
        for path, lines in zip(paths, (4000, 2500), strict=True):
            path.write_text(log(lines))
        longest = map_reduce(bursts, text_lines(paths, level), executor=workers, chunks=6)
    print("  longest burst of errors in two files:", longest)

    commas = lifted("unquoted_commas")
    print('  commas in a line with "quotes, of its own",:', map_reduce(commas, 'a,"b,c",d,"e,,",f', chunks=4))

    balanced = lifted("brackets")
    for text in ("(()(()))" * 1000, "(()" * 10 + "))" * 10, ")("):
        print(f"  {text[:8]}... of {len(text)}:", map_reduce(balanced, text, chunks=5))

    numbered = lifted("sessions")
    print("  sessions:", list(map_scan(numbered, [0, 5, 45, 1, 2, 31, 30, 90], chunks=3)))


if __name__ == "__main__":
    main()
