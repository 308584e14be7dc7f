"""The pointer parameter behind an address, for `--assume noalias`."""

from __future__ import annotations

from warploom.ptx.symbolic import Term, linear

_POINTER_BITS = 64


def pointer_of(address: Term) -> str | None:
    """The name of the parameter that the address is so many bytes from; None where that is not one parameter alone.

    Two parameters in one sum may be a pointer and a count of bytes, or two pointers: which, the text does not say.
    """
    found = [
        str(atom.data[0]) for atom, factor in linear(address)[1]
        if atom.op == "parameter" and atom.width == _POINTER_BITS and factor == 1
    ]  # fmt: skip
    return found[0] if len(found) == 1 else None
