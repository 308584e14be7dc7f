"""Completions in the words of the sketch."""

from __future__ import annotations

from collections.abc import Mapping

from warploom.ir import IndexExpr, Kernel, index_text


def hole_texts(kernel: Kernel, holes: Mapping[str, IndexExpr]) -> dict[str, str]:
    """Python expression of each completion in the sketch's own variables, by hole name, in the order of the sketch."""
    return {hole.name: index_text(holes[hole.name], hole.arg_names) for hole in kernel.holes if hole.name in holes}
