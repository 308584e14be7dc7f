"""Functions to lift and to check, in a file that pytest does not rewrite."""

FACTOR = 3


def total(xs: list[int]) -> int:
    t = 0
    for x in xs:
        t += FACTOR * x
    return t


def helped(xs: list[int]) -> int:
    t = 0
    for x in xs:
        t = larger(t, x)
    return t


def larger(a: int, b: int) -> int:
    return max(a, b)


def difference(a: int, b: int) -> int:
    return a - b


def inner():
    def count(xs: list[int]) -> int:
        n = 0
        for x in xs:
            if x > 0:
                n += 1
        return n

    return count
