"""Colours of input elements: neighbours look alike, arrays differ, constants are grey."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

MAX_STRIPES = 16
HOLE_COLOURS = ("#9fd8a0", "#f6e27f", "#f7b77e", "#a9c9f5", "#d9b3ef", "#f2a7b4")
"""Colours of swizzles: green, yellow and orange first, as in the paper's figure 1."""
ELSEWHERE = "hsl(30 20% 88%)"
"""Colour of elements that only other warps read, and that this warp gets through shared memory."""


def element_colours(elements: Mapping[str, Sequence[str]], constants: frozenset[str]) -> dict[str, str]:
    """CSS colour of every element, from the elements of each input array in order; `constants` names the grey arrays."""
    coloured = [array for array in elements if array not in constants]
    share = 300 / max(1, len(coloured))
    found: dict[str, str] = {}
    for array, names in elements.items():
        for place, name in enumerate(names):
            part = place / max(1, len(names))
            if array in constants:
                found[name] = f"hsl(210 6% {88 - 28 * part:.0f}%)"
            else:
                found[name] = f"hsl({coloured.index(array) * share + part * share * 0.9:.0f} 72% 78%)"
    return found


def stripes(atoms: Sequence[str], colours: Mapping[str, str], greys: frozenset[str]) -> list[str]:
    """Colours that fill a cell from left to right: of the elements in it, constants only where there is nothing else."""
    chosen = [atom for atom in atoms if atom not in greys] or list(atoms)
    if len(chosen) > MAX_STRIPES:
        chosen = [chosen[place * len(chosen) // MAX_STRIPES] for place in range(MAX_STRIPES)]
    return [colours.get(atom, ELSEWHERE) for atom in chosen]
