"""Loops of the families for which a bounded operator exists, each as one writes it first."""

# ruff: noqa: B905, SIM113
# pyright: basic

from __future__ import annotations

from math import exp, gcd, inf


def fibonacci_forced(xs: list[int]):
    a, b = 0, 1
    for x in xs:
        a, b = b, a + b + x
    return a


def second_order(xs: list[float]):
    y = 0.0
    before = 0.0
    for x in xs:
        y, before = x + 0.5 * y - 0.25 * before, y
    return y


def biquad(xs: list[float]):
    x1 = x2 = y1 = y2 = 0.0
    out = []
    for x in xs:
        y = 0.2 * x + 0.4 * x1 + 0.2 * x2 + 0.5 * y1 - 0.25 * y2
        x2 = x1
        x1 = x
        y2 = y1
        y1 = y
        out.append(y)
    return out


def exponential_average(xs: list[float]):
    average = xs[0]
    out = [average]
    for x in xs[1:]:
        average = 0.9 * average + 0.1 * x
        out.append(average)
    return out


def welford(xs: list[float]):
    count = 0
    mean = 0.0
    m2 = 0.0
    for x in xs:
        count += 1
        delta = x - mean
        mean += delta / count
        m2 += delta * (x - mean)
    return mean, m2


def running_mean(xs: list[float]):
    mean = 0.0
    for i, x in enumerate(xs):
        mean = mean + (x - mean) / (i + 1)
    return mean


def variance(xs: list[float]):
    n = 0
    total = 0.0
    squares = 0.0
    for x in xs:
        n += 1
        total += x
        squares += x * x
    return squares / n - (total / n) ** 2 if n > 0 else 0.0


def covariance(xs: list[float], ys: list[float]):
    n = sx = sy = sxy = 0
    for x, y in zip(xs, ys):
        n += 1
        sx += x
        sy += y
        sxy += x * y
    return (sxy - sx * sy / n) / n if n else 0.0


def saturating_counter(taken: list[bool]):
    counter = 2
    hits = 0
    for t in taken:
        if (counter >= 2) == t:
            hits += 1
        if t:
            counter = min(counter + 1, 3)
        else:
            counter = max(counter - 1, 0)
    return hits


def debounce(samples: list[bool]):
    stable = False
    count = 0
    presses = 0
    for s in samples:
        if s == stable:
            count = 0
        else:
            count += 1
            if count == 3:
                stable = s
                count = 0
                if stable:
                    presses += 1
    return presses


HANDSHAKE = ((1, 0, 0), (1, 2, 0), (0, 2, 3), (3, 3, 3))


def handshake(messages: list[int]):
    state = 0
    resets = 0
    for m in messages:
        assert 0 <= m <= 2
        nxt = HANDSHAKE[state][m]
        if nxt == 0 and state != 0:
            resets += 1
        state = nxt
    return state, resets


def divisible_by_seven(bits: list[bool]):
    rest = 0
    for b in bits:
        rest = (2 * rest + b) % 7
    return rest == 0


def comment_characters(text: str):
    state = "code"
    count = 0
    for c in text:
        if state == "code":
            if c == "/":
                state = "slash"
        elif state == "slash":
            if c == "*":
                state = "comment"
            elif c != "/":
                state = "code"
        elif state == "comment":
            if c == "*":
                state = "star"
            else:
                count += 1
        elif c == "/":
            state = "code"
        elif c != "*":
            state = "comment"
            count += 1
    return count


def single_number(xs: list[int]):
    result = 0
    for x in xs:
        result ^= x
    return result


def crc8(data: list[int]):
    crc = 0
    for byte in data:
        crc ^= byte & 0xFF
        for _ in range(8):
            if crc & 0x80:
                crc = ((crc << 1) ^ 0x07) & 0xFF
            else:
                crc = (crc << 1) & 0xFF
    return crc


def crc16_ccitt(data: list[int]):
    crc = 0xFFFF
    for byte in data:
        crc ^= (byte & 0xFF) << 8
        for _ in range(8):
            if crc & 0x8000:
                crc = (crc << 1) ^ 0x1021
            else:
                crc = crc << 1
            crc &= 0xFFFF
    return crc


def crc32(data: list[int]):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte & 0xFF
        for _ in range(8):
            if crc & 1:
                crc = (crc >> 1) ^ 0xEDB88320
            else:
                crc >>= 1
    return crc ^ 0xFFFFFFFF


def _crc_row(n: int):
    for _ in range(8):
        n = (n >> 1) ^ 0xEDB88320 if n & 1 else n >> 1
    return n


CRC_TABLE = [_crc_row(n) for n in range(256)]


def crc32_table(data: list[int]):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = (crc >> 8) ^ CRC_TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def crc64(data: list[int]):
    crc = 0
    for byte in data:
        crc ^= (byte & 0xFF) << 56
        for _ in range(8):
            if crc & (1 << 63):
                crc = ((crc << 1) ^ 0x42F0E1EBA9EA3693) & 0xFFFFFFFFFFFFFFFF
            else:
                crc = (crc << 1) & 0xFFFFFFFFFFFFFFFF
    return crc


def lfsr(bits: list[int]):
    state = 0xACE1
    for b in bits:
        feedback = (state ^ (state >> 2) ^ (state >> 3) ^ (state >> 5) ^ b) & 1
        state = (state >> 1) | (feedback << 15)
    return state


def gray_decode(bits: list[bool]):
    bit = 0
    value = 0
    for b in bits:
        bit ^= b
        value = value * 2 + bit
    return value


def lcg(xs: list[int]):
    seed = 12345
    for x in xs:
        seed = (1664525 * seed + 1013904223 + x) & 0xFFFFFFFF
    return seed


def rolling_hash(xs: list[int]):
    h = 0
    for x in xs:
        h = (h * 31 + x) % 1_000_000_007
    return h


def djb2(xs: list[int]):
    h = 5381
    for c in xs:
        h = ((h << 5) + h + c) % 2**32
    return h


def adler32(data: list[int]):
    a = 1
    b = 0
    for byte in data:
        a = (a + byte) % 65521
        b = (b + a) % 65521
    return (b << 16) | a


def gcd_of_all(xs: list[int]):
    g = 0
    for x in xs:
        g = gcd(g, x)
    return g


def common_and_any_bits(xs: list[int]):
    every = -1
    some = 0
    for x in xs:
        every &= x
        some |= x
    return every, some


def log_sum_exp(xs: list[float]):
    m = -inf
    s = 0.0
    for x in xs:
        new = max(m, x)
        s = s * exp(m - new) + exp(x - new)
        m = new
    return m, s


def online_softmax(scores: list[float], values: list[float]):
    m = -inf
    s = 0.0
    o = 0.0
    for x, v in zip(scores, values):
        if x > m:
            scale = exp(m - x)
            s = s * scale + 1.0
            o = o * scale + v
            m = x
        else:
            p = exp(x - m)
            s += p
            o += p * v
    return o / s if s > 0 else 0.0


def argmax(xs: list[int]):
    best = xs[0]
    at = 0
    for i in range(1, len(xs)):
        if xs[i] > best:
            best = xs[i]
            at = i
    return at


def second_greatest(xs: list[int]):
    first = second = float("-inf")
    first_at = second_at = -1
    for i, x in enumerate(xs):
        if x > first:
            second, second_at = first, first_at
            first, first_at = x, i
        elif x > second:
            second, second_at = x, i
    return second, second_at


def top_three(xs: list[int]):
    a = b = c = -inf
    for x in xs:
        if x > a:
            a, b, c = x, a, b
        elif x > b:
            b, c = x, b
        elif x > c:
            c = x
    return a, b, c


def kadane(nums: list[int]):
    best = current = nums[0]
    for x in nums[1:]:
        current = max(x, current + x)
        best = max(best, current)
    return best


def kadane_with_indices(xs: list[int]):
    best = 0
    current = 0
    start = 0
    best_start = best_end = 0
    for i, x in enumerate(xs):
        current += x
        if current < 0:
            current = 0
            start = i + 1
        if current > best:
            best = current
            best_start = start
            best_end = i + 1
    return best, best_start, best_end


def longest_run_of_ones(xs: list[int]):
    run = 0
    best = 0
    for x in xs:
        if x == 1:
            run += 1
            best = max(best, run)
        else:
            run = 0
    return best


def longest_run_with_place(xs: list[int]):
    run = 0
    best = 0
    best_end = -1
    for i, x in enumerate(xs):
        run = run + 1 if x == 1 else 0
        if run > best:
            best = run
            best_end = i
    return best, best_end - best + 1


def longest_rise(xs: list[int]):
    best = run = 1
    for i in range(1, len(xs)):
        if xs[i] > xs[i - 1]:
            run += 1
        else:
            run = 1
        best = max(best, run)
    return best


def first_negative(xs: list[int]):
    for i, x in enumerate(xs):
        if x < 0:
            return i
    return -1


def last_negative(xs: list[int]):
    at = -1
    for i, x in enumerate(xs):
        if x < 0:
            at = i
    return at


def peaks(xs: list[int]):
    count = 0
    for i in range(1, len(xs) - 1):
        if xs[i - 1] < xs[i] > xs[i + 1]:
            count += 1
    return count


def greatest_product(nums: list[int]):
    best = high = low = nums[0]
    for x in nums[1:]:
        high, low = max(x, high * x, low * x), min(x, high * x, low * x)
        best = max(best, high)
    return best


def buy_and_sell_once(prices: list[int]):
    cheapest = float("inf")
    profit = 0
    for p in prices:
        if p < cheapest:
            cheapest = p
        elif p - cheapest > profit:
            profit = p - cheapest
    return profit


def buy_and_sell_twice(prices: list[int]):
    buy1 = buy2 = -inf
    sell1 = sell2 = 0
    for p in prices:
        buy1 = max(buy1, -p)
        sell1 = max(sell1, buy1 + p)
        buy2 = max(buy2, sell1 - p)
        sell2 = max(sell2, buy2 + p)
    return sell2


def buy_with_cooldown(prices: list[int]):
    hold = -inf
    sold = 0
    rest = 0
    for p in prices:
        hold, sold, rest = max(hold, rest - p), hold + p, max(rest, sold)
    return max(sold, rest)


def house_robber(xs: list[int]):
    take, skip = 0, 0
    for x in xs:
        take, skip = skip + x, max(take, skip)
    return max(take, skip)


def viterbi(observed: list[tuple[int, int]]):
    rain = -1
    sun = 0
    for wet, dry in observed:
        rain, sun = max(rain - 1, sun - 2) + wet, max(rain - 2, sun - 1) + dry
    return max(rain, sun)


def edit_distance_to_cat(text: str):
    d0, d1, d2, d3 = 0, 1, 2, 3
    for c in text:
        e0 = d0 + 1
        e1 = min(d1 + 1, e0 + 1, d0 + (c != "c"))
        e2 = min(d2 + 1, e1 + 1, d1 + (c != "a"))
        e3 = min(d3 + 1, e2 + 1, d2 + (c != "t"))
        d0, d1, d2, d3 = e0, e1, e2, e3
    return d3


def subsequences_abc(text: str):
    a = ab = abc = 0
    for c in text:
        if c == "a":
            a += 1
        elif c == "b":
            ab += a
        elif c == "c":
            abc += ab
    return abc


def gas_station(gas: list[int], cost: list[int]):
    total = 0
    tank = 0
    start = 0
    for i in range(len(gas)):
        total += gas[i] - cost[i]
        tank += gas[i] - cost[i]
        if tank < 0:
            start = i + 1
            tank = 0
    return start if total >= 0 else -1


def pair_products(xs: list[int]):
    total = 0
    result = 0
    for x in xs:
        result += total * x
        total += x
    return result


def continued_fraction(xs: list[int]):
    p, before_p = 1, 0
    q, before_q = 0, 1
    for x in xs:
        p, before_p = x * p + before_p, p
        q, before_q = x * q + before_q, q
    return p, q
