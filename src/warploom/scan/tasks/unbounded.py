"""Loops for which no operator of a fixed number of values exists: the answer is `unknown`, or a refusal at the place."""


# pyright: basic

from __future__ import annotations


def squared_state(xs: list[int]):
    y = 1
    for x in xs:
        y = y * y + x
    return y


def logistic_map(xs: list[float]):
    y = 0.5
    for x in xs:
        y = x * y * (1 - y)
    return y


def fnv1a(data: list[int]):
    h = 0x811C9DC5
    for byte in data:
        h = ((h ^ byte) * 0x01000193) & 0xFFFFFFFF
    return h


def majority_vote(xs: list[int]):
    candidate = 0
    count = 0
    for x in xs:
        if count == 0:
            candidate = x
        count += 1 if x == candidate else -1
    return candidate


def longest_increasing_subsequence_greedy(xs: list[int], k: int):
    kept = 0
    last = 0
    for x in xs:
        if x >= last + k:
            kept += 1
            last = x
    return kept


def rounded_interest(deposits: list[int]):
    balance = 0
    for d in deposits:
        balance = balance + balance * 5 // 100 + d
    return balance


def closest_running_sum(xs: list[int], target: int):
    total = 0
    hits = 0
    for x in xs:
        total += x
        if total == target:
            hits += 1
    return hits


def days_below_zero(changes: list[int]):
    balance = days = 0
    for c in changes:
        balance += c
        if balance < 0:
            days += 1
    return days


def first_day_below_zero(changes: list[int]):
    balance = 0
    for day, c in enumerate(changes):
        balance += c
        if balance < 0:
            return day
    return None


def slew_limit(xs: list[int]):
    y = 0
    for x in xs:
        y = min(max(x, y - 3), y + 3)
    return y


def records(xs: list[int]):
    tallest = seen = 0
    for x in xs:
        if x > tallest:
            seen += 1
            tallest = x
    return seen


def bouncing(steps: list[int]):
    at = 0
    for s in steps:
        at = abs(at + s)
    return at
