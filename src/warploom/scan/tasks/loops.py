"""The divide-and-conquer tasks that the literature measures, each as the serial loop one would write."""

from __future__ import annotations

from math import inf


def total(xs: list[int]):
    acc = 0
    for x in xs:
        acc += x
    return acc


def minimum(xs: list[int]):
    least = inf
    for x in xs:
        least = min(least, x)
    return least


def maximum(xs: list[int]):
    most = -inf
    for x in xs:
        if x > most:
            most = x
    return most


def length(xs: list[int]):
    count = 0
    for _x in xs:
        count += 1
    return count


def second_min(xs: list[int]):
    first = inf
    second = inf
    for x in xs:
        if x < first:
            second = first
            first = x
        elif x < second:
            second = x
    return second


def third_min(xs: list[int]):
    first = inf
    second = inf
    third = inf
    for x in xs:
        third = min(third, max(second, x))
        second = min(second, max(first, x))
        first = min(first, x)
    return third


def max_prefix_sum(xs: list[int]):
    acc = 0
    best = 0
    for x in xs:
        acc += x
        best = max(best, acc)
    return best


def max_suffix_sum(xs: list[int]):
    best = 0
    for x in xs:
        best = max(best + x, 0)
    return best


def max_segment_sum(xs: list[int]):
    here = 0
    best = 0
    for x in xs:
        here = max(here + x, 0)
        best = max(best, here)
    return best


def max_prefix_sum_position(xs: list[int]):
    acc = 0
    best = 0
    position = 0
    for i, x in enumerate(xs):
        acc += x
        if acc > best:
            best = acc
            position = i + 1
    return position


def max_suffix_sum_position(xs: list[int]):
    best = 0
    position = 0
    for i, x in enumerate(xs):
        if best + x >= 0:
            best = best + x
        else:
            best = 0
            position = i + 1
    return position


def is_sorted(xs: list[int]):
    ok = True
    last = -inf
    for x in xs:
        if x < last:
            ok = False
        last = x
    return ok


def atoi(digits: list[int]):
    value = 0
    for d in digits:
        value = value * 10 + d
    return value


def drop_while(xs: list[int]):
    dropping = True
    kept = 0
    for x in xs:
        if x != 0:
            dropping = False
        if not dropping:
            kept += 1
    return kept


def balanced_parentheses(opening: list[bool]):
    depth = 0
    ok = True
    for is_open in opening:
        if is_open:
            depth += 1
        else:
            depth -= 1
        if depth < 0:
            ok = False
    return ok and depth == 0


def zeros_then_ones(xs: list[bool]):
    seen_one = False
    ok = True
    for x in xs:
        if x:
            seen_one = True
        elif seen_one:
            ok = False
    return ok


def zero_after_one(xs: list[bool]):
    seen_one = False
    found = False
    for x in xs:
        if x:
            seen_one = True
        elif seen_one:
            found = True
    return found


def count_blocks_of_ones(xs: list[int]):
    count = 0
    before = 0
    for x in xs:
        if x == 1 and before != 1:
            count += 1
        before = x
    return count


def line_of_sight(heights: list[int]):
    tallest = -inf
    visible = False
    for h in heights:
        visible = h >= tallest
        tallest = max(tallest, h)
    return visible


def max_length_of_ones(xs: list[int]):
    run = 0
    best = 0
    for x in xs:
        run = run + 1 if x == 1 else 0
        best = max(best, run)
    return best


def average(xs: list[int]):
    acc = 0
    count = 0
    for x in xs:
        acc += x
        count += 1
    return acc / count if count > 0 else 0


def count_1_0plus(xs: list[int]):
    count = 0
    after_one = False
    for x in xs:
        if x == 0 and after_one:
            count += 1
        after_one = x == 1
    return count


def count_1_0star_2(xs: list[int]):
    count = 0
    inside = False
    for x in xs:
        if x == 1:
            inside = True
        elif x != 0:
            if x == 2 and inside:
                count += 1
            inside = False
    return count


def count_1plus_2plus_3(xs: list[int]):
    count = 0
    state = 0
    for x in xs:
        if x == 1:
            state = 1
        elif x == 2 and state >= 1:
            state = 2
        else:
            if x == 3 and state == 2:
                count += 1
            state = 0
    return count


def max_sum_between_ones(xs: list[int]):
    seen = False
    acc = 0
    best = 0
    for x in xs:
        if x == 1:
            if seen:
                best = max(best, acc)
            seen = True
            acc = 0
        else:
            acc += x
    return best


def max_distance_between_zeros(xs: list[int]):
    seen = False
    distance = 0
    best = 0
    for x in xs:
        distance += 1
        if x == 0:
            if seen:
                best = max(best, distance)
            seen = True
            distance = 0
    return best


def longest_increasing_run(xs: list[int]):
    last = inf
    run = 0
    best = 0
    for x in xs:
        if x > last:
            run += 1
        else:
            run = 1
        best = max(best, run)
        last = x
    return best


def largest_peak(xs: list[int]):
    here = 0
    best = 0
    for x in xs:
        if x > 0:
            here += x
        else:
            here = 0
        best = max(best, here)
    return best


def longest_ones(xs: list[bool]):
    run = 0
    best = 0
    for x in xs:
        if x:
            run += 1
            best = max(best, run)
        else:
            run = 0
    return best


def longest_1_0star_2(xs: list[int]):
    run = 0
    best = 0
    for x in xs:
        if x == 1:
            run = 1
        elif x == 0 and run > 0:
            run += 1
        else:
            if x == 2 and run > 0:
                best = max(best, run + 1)
            run = 0
    return best


def longest_odd_01(xs: list[bool]):
    after_zero = False
    pairs = 0
    best = 0
    for x in xs:
        if x:
            if after_zero:
                pairs += 1
                if pairs % 2 == 1:
                    best = max(best, 2 * pairs)
            else:
                pairs = 0
            after_zero = False
        else:
            if after_zero:
                pairs = 0
            after_zero = True
    return best


def longest_even_zeros(xs: list[int]):
    run = 0
    best = 0
    for x in xs:
        if x == 0:
            run += 1
            if run % 2 == 0:
                best = max(best, run)
        else:
            run = 0
    return best


def max_prefix_product(xs: list[int]):
    product = 1
    best = 1
    for x in xs:
        product *= x
        best = max(best, product)
    return best


def max_suffix_product(xs: list[int]):
    high = 1
    low = 1
    for x in xs:
        high, low = max(high * x, low * x, 1), min(high * x, low * x, 1)
    return high


def max_segment_product(xs: list[int]):
    high = 1
    low = 1
    best = 1
    for x in xs:
        high, low = max(high * x, low * x, 1), min(high * x, low * x, 1)
        best = max(best, high)
    return best


def position_of_longest_ones(xs: list[int]):
    run = 0
    best = 0
    position = 0
    for i, x in enumerate(xs):
        if x == 1:
            run += 1
        else:
            run = 0
        if run > best:
            best = run
            position = i + 1 - run
    return position


def hamming(xs: list[int], ys: list[int]):
    distance = 0
    for x, y in zip(xs, ys):  # noqa: B905 - the loop reader takes lists of one length for granted
        if x != y:
            distance += 1
    return distance


def poly(coefficients: list[int], at: int):
    value = 0
    power = 1
    for c in coefficients:
        value += c * power
        power *= at
    return value
