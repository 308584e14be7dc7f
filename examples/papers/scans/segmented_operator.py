"""Section 3.1 of the paper on scans: the operator F of a segmented sum, by cases of the two bits, with one helper per case."""


def f1(x, y):
    return choose(0, x, y, x + y)


def f2(x, y):
    return choose(0, x, y, x + y)


def f3(x, y):
    return choose(0, x, y, x + y)


def f4(x, y):
    return choose(0, x, y, x + y)


def F(a, b):
    (v1, b1), (v2, b2) = a, b
    if b1 == 0 and b2 == 0:
        return f1(v1, v2), ??
    if b1 == 0 and b2 == 1:
        return f2(v1, v2), ??
    if b1 == 1 and b2 == 0:
        return f3(v1, v2), ??
    if b1 == 1 and b2 == 1:
        return f4(v1, v2), ??


def sums(a: tuple[int, bool], b: tuple[int, bool]):
    """Two neighbouring parts as one: what the second adds to, and whether a segment begins in either."""
    (v1, b1), (v2, b2) = a, b
    return (v2 if b2 else v1 + v2), b1 or b2
