"""Mean and squared deviations in one pass, as Welford wrote it. The operator that merges two pieces is found."""

import warploom as wl


def welford(xs: list[float]):
    mean = 0.0
    squares = 0.0
    for n, x in enumerate(xs, 1):
        away = x - mean
        mean += away / n
        squares += away * (x - mean)
    return mean, squares


if __name__ == "__main__":
    found = wl.lift(welford)
    print(f"{found.status}, {found.verdict} over {found.domain}")
    print("  one piece:", ", ".join(found.fields))
