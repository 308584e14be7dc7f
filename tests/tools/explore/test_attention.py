"""Both products of attention and the softmax between them as one kernel in two passes over the keys, found and proved."""

# ruff: noqa: F821, UP037  (indices and sizes are names of the language)
# pyright: basic, reportInvalidTypeForm=false, reportUndefinedVariable=false, reportIndexIssue=false, reportOperatorIssue=false
# pyright: reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false

from __future__ import annotations

import pytest

import warploom as wl
from warploom.core import f32
from warploom.gpu import toolchain_available
from warploom.schedule.frontend import exp, out, tensor


@tensor
def attention(scale: f32, Q: f32["n", "d"], K: f32["m", "d"], V: f32["m", "d"], Y: out[f32["n", "d"]]):
    s[i, j] = scale * sum(Q[i, k] * K[j, k], over=k)
    top[i] = max(s[i, j], over=j)
    e[i, j] = exp(s[i, j] - top[i])
    total[i] = sum(e[i, j], over=j)
    weighted[i, c] = sum(e[i, j] * V[j, c], over=j)
    Y[i, c] = weighted[i, c] / total[i]


@pytest.mark.slow
@pytest.mark.skipif(not toolchain_available(), reason="the extra `cuda` is not installed")
def test_attention_is_one_kernel_that_is_proved() -> None:
    found = wl.explore(attention, sizes={"n": 128, "m": 128, "d": 32}, target="sm_90", nodes=200, fixed={"online": "NO"})
    assert (found.status, found.verdict) == ("solved", "proved"), found.line
    assert len(found.line["decisions"]) > 0 and not any("/" in name for name in found.line["decisions"])
