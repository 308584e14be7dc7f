"""Serial loops from real life, each lifted by `warploom scan lift examples/scan/real_life.py:NAME`."""

from typing import Literal


def sessions(gaps: list[int]):
    """Number the sessions of a log: a gap of more than 30 minutes starts a new one."""
    session = 0
    out = []
    for gap in gaps:
        if gap > 30:
            session += 1
        out.append(session)
    return out


def unquoted_commas(text: str):
    """Commas outside of quotes in a line of a CSV file: an automaton with a counter."""
    quoted = False
    count = 0
    for c in text:
        if c == '"':
            quoted = not quoted
        elif c == "," and not quoted:
            count += 1
    return count


def escaped_lines(log: str):
    """Lines of a log; a backslash before the end of a line continues it."""
    escaped = False
    lines = 0
    for c in log:
        if c == "\n" and not escaped:
            lines += 1
        escaped = c == "\\" and not escaped
    return lines


def error_bursts(levels: list[Literal[0, 1, 2, 3]]):
    """The longest run of errors (level 3) that warnings (level 2) do not interrupt."""
    run = 0
    longest = 0
    for level in levels:
        if level == 3:
            run += 1
        elif level != 2:
            run = 0
        longest = max(longest, run)
    return longest


def smoothed(xs: list[float]):
    """Exponential smoothing, every value."""
    level = 0.0
    out = []
    for x in xs:
        level = 0.875 * level + 0.125 * x
        out.append(level)
    return out


def group_statistics(items: list[tuple[float, bool]]):
    """Sum, count and maximum of each group so far; a flag starts a group."""
    total = 0.0
    count = 0
    most = 0.0
    sums = []
    counts = []
    peaks = []
    for x, starts in items:
        if starts:
            total = x
            count = 1
            most = x
        else:
            total += x
            count += 1
            most = max(most, x)
        sums.append(total)
        counts.append(count)
        peaks.append(most)
    return sums, counts, peaks


def queue_length(items: list[tuple[int, int]]):
    """A queue with arrivals and services per tick, never below zero, at most 100: its length after every tick."""
    waiting = 0
    out = []
    for arrived, served in items:
        waiting = min(max(waiting + arrived - served, 0), 100)
        out.append(waiting)
    return out


def drawdown(prices: list[int]):
    """The greatest fall from a peak to a later price."""
    peak = 0
    worst = 0
    for price in prices:
        peak = max(peak, price)
        worst = max(worst, peak - price)
    return worst


def best_trade(prices: list[int]):
    """The greatest gain of buying once and selling later."""
    cheapest = float("inf")
    gain = 0
    for price in prices:
        cheapest = min(cheapest, price)
        gain = max(gain, price - cheapest)
    return gain


def brackets(text: str):
    """Whether the brackets of a text are balanced."""
    depth = 0
    ok = True
    for c in text:
        if c == "(":
            depth += 1
        elif c == ")":
            depth -= 1
        ok = ok and depth >= 0
    return ok and depth == 0


def horner(coefficients: list[int], x: int):
    """A polynomial's value, highest coefficient first."""
    value = 0
    for c in coefficients:
        value = value * x + c
    return value


def moving_maximum_of_three(xs: list[int]):
    """The greatest of the last three."""
    before = float("-inf")
    earlier = float("-inf")
    out = []
    for x in xs:
        out.append(max(x, before, earlier))
        earlier = before
        before = x
    return out


def comments(text: str):
    """Characters inside /* ... */ comments, and whether the last one is closed: an automaton with named states."""
    state = "code"
    count = 0
    for c in text:
        if state == "code":
            if c == "/":
                state = "slash"
        elif state == "slash":
            state = "comment" if c == "*" else "slash" if c == "/" else "code"
        elif state == "comment":
            count += 1
            if c == "*":
                state = "star"
        else:
            if c == "/":
                state = "code"
            elif c != "*":
                state = "comment"
    return count, state == "code"
