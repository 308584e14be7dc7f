"""Loops that people outside tried first, unlucky spellings among them; an operator exists for each."""

# ruff: noqa: B905, E741, SIM109, SIM113
# pyright: basic

from __future__ import annotations

import math
from math import exp, inf

M32 = 0xFFFFFFFF


def xorshift(xs: list[int]):
    s = 2463534242
    for x in xs:
        s ^= x & M32
        s ^= (s << 13) & M32
        s ^= s >> 17
        s ^= (s << 5) & M32
    return s


def rotate_hash(xs: list[int]):
    h = 0
    for x in xs:
        h = ((h << 5) | (h >> 27)) & 0xFFFFFFFF
        h ^= x & 0xFF
    return h


def galois(xs: list[int]):
    r = 1
    for _ in xs:
        lsb = r & 1
        r >>= 1
        if lsb:
            r ^= 0xB400
    return r


def galois_mask(xs: list[int]):
    r = 1
    for x in xs:
        r = (r >> 1) ^ (-(r & 1) & 0xB400)
        r ^= x & 1
    return r


def crc_neg(data: list[int]):
    crc = -1 & M32
    for b in data:
        crc = crc ^ (b & 0xFF)
        for _ in range(8):
            mask = -(crc & 1)
            crc = (crc >> 1) ^ (0xEDB88320 & mask)
    return ~crc & M32


def crc5(bits: list[bool]):
    reg = 0x1F
    for b in bits:
        top = (reg >> 4) & 1
        reg = (reg << 1) & 0x1F
        if top != b:
            reg ^= 0x05
    return reg


def crc16_modbus(data: list[int]):
    crc = 0xFFFF
    n = 0
    for d in data:
        assert 0 <= d <= 255
        crc ^= d
        n += 1
        for _ in range(8):
            if crc & 0x0001:
                crc >>= 1
                crc ^= 0xA001
            else:
                crc >>= 1
    return crc, n


def parity_count(xs: list[bool]):
    p = 0
    odd = 0
    for x in xs:
        p ^= x
        odd += p
    return odd


def shift_register(bits: list[bool]):
    w = 0
    hits = 0
    for b in bits:
        w = ((w << 1) | b) & 7
        if w == 5:
            hits += 1
    return hits


def crc_bytes(data: bytes):
    crc = 0
    for b in data:
        crc = crc ^ b
        for _ in range(8):
            crc = crc >> 1 if crc % 2 == 0 else (crc >> 1) ^ 0x8C
    return crc


def mean_weighted(xs: list[float]):
    n = 0
    mean = 0.0
    for x in xs:
        mean = (mean * n + x) / (n + 1)
        n += 1
    return mean


def welford_sample(xs: list[float]):
    n = 0
    mean = 0
    m2 = 0
    for x in xs:
        n = n + 1
        delta = x - mean
        mean = mean + delta / n
        m2 = m2 + delta * (x - mean)
    if n < 2:
        return 0.0
    return m2 / (n - 1)


def variance_update(xs: list[float]):
    var = 0.0
    mean = 0.0
    for i, x in enumerate(xs):
        old = mean
        mean += (x - mean) / (i + 1)
        var = (var * i + (x - old) * (x - mean)) / (i + 1)
    return var


def online_cov(xs: list[float], ys: list[float]):
    mx = my = c = 0.0
    n = 0
    for x, y in zip(xs, ys):
        n += 1
        dx = x - mx
        mx += dx / n
        my += (y - my) / n
        c += dx * (y - my)
    return c / n if n else 0.0


def mean_positive(xs: list[float]):
    n = 0
    mean = 0.0
    for x in xs:
        if x > 0:
            n += 1
            mean += (x - mean) / n
    return mean


def regress(xs: list[float], ys: list[float]):
    n = 0
    mx = my = sxx = sxy = 0.0
    for x, y in zip(xs, ys):
        n += 1
        dx = x - mx
        dy = y - my
        mx += dx / n
        my += dy / n
        sxx += dx * (x - mx)
        sxy += dx * (y - my)
    return sxy / sxx if sxx > 0 else 0.0


def lse(xs: list[float]):
    m = float("-inf")
    s = 0.0
    for x in xs:
        if x <= m:
            s += math.exp(x - m)
        else:
            s = s * math.exp(m - x) + 1
            m = x
    return m, s


def attention(scores: list[float], v0: list[float], v1: list[float]):
    m, l, o0, o1 = -inf, 0.0, 0.0, 0.0
    for s, a, b in zip(scores, v0, v1):
        m_new = max(m, s)
        alpha = exp(m - m_new)
        p = exp(s - m_new)
        l = l * alpha + p
        o0 = o0 * alpha + p * a
        o1 = o1 * alpha + p * b
        m = m_new
    return o0 / l, o1 / l


def norm_first(xs: list[float]):
    m = xs[0]
    s = 1.0
    for x in xs[1:]:
        if x > m:
            s = s * exp(m - x) + 1.0
            m = x
        else:
            s = s + exp(x - m)
    return m, s


def scaled(xs: list[float]):
    m, s = -inf, 0.0
    for x in xs:
        y = 0.125 * x
        n = max(m, y)
        s = s * exp(m - n) + exp(y - n)
        m = n
    return m, s


def top_two_with_names(scores: list[float], ids: list[int]):
    a = b = -inf
    ia = ib = -1
    for s, i in zip(scores, ids):
        if s > a:
            b, ib = a, ia
            a, ia = s, i
        elif s > b:
            b, ib = s, i
    return ia, ib


def two_smallest(xs: list[int]):
    lo = lo2 = inf
    for x in xs:
        if x < lo:
            lo2 = lo
            lo = x
        elif x < lo2:
            lo2 = x
    return lo, lo2


def argmin_last(xs: list[int]):
    best, at = inf, -1
    for i, x in enumerate(xs):
        if x <= best:
            best, at = x, i
    return at


def third_largest_distinct(xs: list[int]):
    a = b = c = -inf
    for x in xs:
        if x == a or x == b or x == c:
            continue
        if x > a:
            a, b, c = x, a, b
        elif x > b:
            b, c = x, b
        elif x > c:
            c = x
    return c


def viterbi3(a: list[int], b: list[int], c: list[int]):
    s0 = s1 = s2 = 0
    for p, q, r in zip(a, b, c):
        s0, s1, s2 = max(s0, s1 - 1) + p, max(s0 - 2, s1, s2) + q, max(s1 - 1, s2) + r
    return max(s0, s1, s2)


def paint_house(r: list[int], g: list[int], b: list[int]):
    x = y = z = 0
    for i, j, k in zip(r, g, b):
        x, y, z = i + min(y, z), j + min(x, z), k + min(x, y)
    return min(x, y, z)


def sticky_alarm(temps: list[float], limit: float):
    alarm = False
    count = 0
    for t in temps:
        if t > limit:
            count += 1
        else:
            count = 0
        if count >= 3:
            alarm = True
    return alarm


def csv_fields(text: str):
    quoted = False
    commas = 0
    for ch in text:
        if ch == '"':
            quoted = not quoted
        elif ch == "," and not quoted:
            commas += 1
    return commas + 1


def zigzag(xs: list[int]):
    up = down = 1
    for i in range(1, len(xs)):
        if xs[i] > xs[i - 1]:
            up = down + 1
        elif xs[i] < xs[i - 1]:
            down = up + 1
    return max(up, down)


def line_col(text: str):
    line, col = 1, 0
    for c in text:
        if c == "\n":
            line += 1
            col = 0
        else:
            col += 1
    return line, col


def complex_rotation(xs: list[float]):
    re, im = 1.0, 0.0
    for x in xs:
        re, im = 0.6 * re - 0.8 * im + x, 0.8 * re + 0.6 * im
    return re, im


def fletcher16(data: bytes):
    a = b = 0
    for x in data:
        a = (a + x) % 255
        b = (b + a) % 255
    return (b << 8) | a


def dfa(text: str):
    state = 0
    for c in text:
        if state == 0:
            state = 1 if c == "a" else 0
        elif state == 1:
            state = 2 if c == "b" else 1 if c == "a" else 0
        elif state == 2:
            state = 3 if c == "c" else 1 if c == "a" else 0
    return state == 3


def stock_cooldown(prices: list[int]):
    hold, sold, rest = -inf, -inf, 0
    for p in prices:
        hold, sold, rest = max(hold, rest - p), hold + p, max(rest, sold)
    return max(sold, rest)


def mountain(xs: list[int]):
    n = 0
    for i in range(1, len(xs) - 1):
        if xs[i - 1] < xs[i] > xs[i + 1]:
            n += 1
    return n


def std(xs: list[float]):
    n = 0
    mean = m2 = 0.0
    for x in xs:
        n += 1
        d = x - mean
        mean += d / n
        m2 += d * (x - mean)
    return math.sqrt(m2 / n) if n else 0.0


def logsumexp(xs: list[float]):
    m, s = -inf, 0.0
    for x in xs:
        n = max(m, x)
        s = s * exp(m - n) + exp(x - n)
        m = n
    return m + math.log(s)


def count_max(xs: list[int]):
    best, n = -inf, 0
    for x in xs:
        if x > best:
            best, n = x, 1
        elif x == best:
            n += 1
    return best, n


def weight_min(xs: list[int], ws: list[int]):
    best, n = inf, 0
    for x, w in zip(xs, ws):
        if x < best:
            best, n = x, w
        elif x == best:
            n = n + w
    return best, n


def stock_and_backlog(orders: list[int]):
    stock = 50
    backlog = 0
    for o in orders:
        stock -= o
        if stock < 0:
            backlog -= stock
            stock = 0
    return stock, backlog


def unmatched_brackets(text: str):
    opened = missing = 0
    for c in text:
        if c == "(":
            opened += 1
        elif c == ")":
            if opened > 0:
                opened -= 1
            else:
                missing += 1
    return opened + missing


def peak_hold(xs: list[float]):
    level = 0.0
    for x in xs:
        level = max(abs(x), level * 0.9)
    return level


def token_bucket(gaps: list[int]):
    tokens = 3
    dropped = 0
    for g in gaps:
        assert g >= 0
        tokens = min(3, tokens + g)
        if tokens >= 1:
            tokens -= 1
        else:
            dropped += 1
    return dropped


def utf8_valid(data: bytes):
    need = 0
    for b in data:
        if need == 0:
            if b >> 5 == 0b110:
                need = 1
            elif b >> 4 == 0b1110:
                need = 2
            elif b >> 3 == 0b11110:
                need = 3
            elif b >> 7:
                return False
        else:
            if b >> 6 != 0b10:
                return False
            need -= 1
    return need == 0


def greatest_and_least_two(xs: list[int]):
    a = b = -math.inf
    c = d = math.inf
    for x in xs:
        if x > a:
            a, b = x, a
        elif x > b:
            b = x
        if x < c:
            c, d = x, c
        elif x < d:
            d = x
    return a, b, c, d


def present_value(flows: list[float], rate: float):
    total = 0.0
    factor = 1.0
    for f in flows:
        total += f * factor
        factor /= 1 + rate
    return total


def sign_changes(xs: list[float]):
    changes = 0
    for i in range(1, len(xs)):
        if xs[i - 1] * xs[i] < 0:
            changes += 1
    return changes
