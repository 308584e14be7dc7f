"""The greatest sum of a contiguous segment, as one writes it serially."""


def mss(xs: list[int]) -> int:
    here = 0
    best = 0
    for x in xs:
        here = max(here + x, 0)
        best = max(best, here)
    return best
