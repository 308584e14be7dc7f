"""Attention over a stream of keys: the largest score, the sum of weights, and the weighted values of what was seen so far."""

import math

import warploom as wl


def attention(scores: list[float], values: list[float]):
    top = -math.inf
    total = 0.0
    out = 0.0
    for s, v in zip(scores, values, strict=True):
        new = max(top, s)
        total = total * math.exp(top - new) + math.exp(s - new)
        out = out * math.exp(top - new) + math.exp(s - new) * v
        top = new
    return out / total


if __name__ == "__main__":
    found = wl.lift(attention)
    print(f"{found.status}, {found.verdict} over {found.domain}")
    print("  one piece:", ", ".join(found.fields))
