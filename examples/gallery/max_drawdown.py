"""The largest fall of a price: what a piece must tell is three numbers, and pieces merge in any grouping."""

import functools

import warploom as wl


def drawdown(prices: list[int]):
    peak = 0
    worst = 0
    for p in prices:
        peak = max(peak, p)
        worst = max(worst, peak - p)
    return worst


if __name__ == "__main__":
    found = wl.lift(drawdown)
    print(f"{found.status}, {found.verdict} over {found.domain}")
    print("  one piece:", ", ".join(found.fields))
    made = found.emit("dask")
    module: dict = {}
    exec(made.source, module)
    pieces = [module["update"](module["zero"](), piece) for piece in ([3, 9, 4], [], [7], [12, 1, 5])]
    print(f"{made.verdict}; of four pieces:", module["finish"](functools.reduce(module["merge"], pieces)))
