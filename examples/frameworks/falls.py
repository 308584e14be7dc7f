"""A loop over prices, which the scripts beside this one run in frameworks."""


def fall(prices: list[int]) -> int:
    """The largest fall of a price below an earlier one."""
    top = 0
    worst = 0
    for price in prices:
        top = max(top, price)
        worst = max(worst, top - price)
    return worst
