"""The best path through a model of two states (Viterbi): a piece is a matrix of maximum and plus."""

import warploom as wl


def best(stays: list[int], moves: list[int]):
    a = 0
    b = 0
    for s, m in zip(stays, moves, strict=True):
        a, b = max(a + s, b + m), max(b + s, a - m)
    return max(a, b)


if __name__ == "__main__":
    found = wl.lift(best)
    print(f"{found.status}, {found.verdict} over {found.domain}")
    print("  one piece:", ", ".join(found.fields))
