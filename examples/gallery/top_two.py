"""The two largest values of a list, as a reduction: what a piece must tell is two numbers, merged by a sort of four."""

import functools

import warploom as wl


def top_two(xs: list[int]):
    first = 0
    second = 0
    for x in xs:
        second = max(second, min(first, x))
        first = max(first, x)
    return first, second


if __name__ == "__main__":
    found = wl.lift(top_two)
    print(f"{found.status}, {found.verdict} over {found.domain}")
    print("  one piece:", ", ".join(found.fields))
    made = found.emit("dask")  # zero, update, merge, finish
    module: dict = {}
    exec(made.source, module)
    pieces = [module["update"](module["zero"](), piece) for piece in ([3, 9, 4], [], [7], [9, 1])]
    print(f"{made.verdict}; of four pieces:", module["finish"](functools.reduce(module["merge"], pieces)))
