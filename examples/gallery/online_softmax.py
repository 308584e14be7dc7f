"""Online softmax: the largest score and the sum of exponentials below it, merged piece by piece. Its laws are proved."""

import math

import warploom as wl


def merge(a: tuple[float, float], b: tuple[float, float]) -> tuple[float, float]:
    top = max(a[0], b[0])
    return (top, a[1] * math.exp(a[0] - top) + b[1] * math.exp(b[0] - top))


def forgets_to_rescale(a: tuple[float, float], b: tuple[float, float]) -> tuple[float, float]:
    top = max(a[0], b[0])
    return (top, a[1] * math.exp(a[0] - top) + b[1])


if __name__ == "__main__":
    for operator in (merge, forgets_to_rescale):
        found = wl.check_operator(operator)
        why = str(found.line.get("reason", "")).partition(" with ")[0]
        print(f"{operator.__name__}: {found.status}, {found.verdict}", why.rstrip(":") or f"over {found.line['domain']}")
