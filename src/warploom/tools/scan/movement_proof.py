"""Proofs of the movement of kernels, with an unknown operator, and how an attempt to prove one launch ends.

What is proved is a text in PTX: its functions are calls of what is only declared, so loops of one layout share it. A proof is
kept in the user's cache under that text, all that the launches were made of, and the digest of this package.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from warploom.core import UnsupportedError
from warploom.core.private import default_cache_path
from warploom.scan.emit import CudaScan, Kernel
from warploom.solve import Json, ResultCache, problem_key
from warploom.synth.compiled import FaultError
from warploom.tools.command.messages import one_line
from warploom.tools.scan.elements import NotSeenError, WrongError

Sizes: TypeAlias = Mapping[str, list[list[int]]]


@dataclass(frozen=True, slots=True)
class MovementProof:
    """`verdict` is proved, refuted or unchecked; `kernels` are those that it is about."""

    verdict: str
    kernels: tuple[Kernel, ...] = ()
    sizes: Sizes = field(default_factory=dict[str, list[list[int]]])
    """`launches` of warps and blocks, as threads of a block and elements; of those on cells: `cells`. `whole_arrays`: threads of
    a block, elements of a thread, elements."""
    domain: str = ""
    reason: str = ""
    is_kept: bool = False
    """Whether it was made before, and read from the cache."""


def kept_or_proved(made: CudaScan, ptx: str, launches: Json, prove: Callable[[], MovementProof]) -> MovementProof:
    """The proof of this text in the user's cache, or what `prove` gives, which is kept if it is proved.

    launches: what else the launches are made of.
    """
    path = default_cache_path()
    if path is None:
        return prove()
    body = made.body
    slots = [[[s.name, s.scalar, s.before] for s in part] for part in (body.fields, body.elements, body.constants, body.outputs)]
    numbers = [made.choices.threads, made.items, made.value_bytes, made.columns]
    key = problem_key(["movement", ptx, slots, numbers, repr(made.form), list(made.kernels), any_operator(made), launches])
    with ResultCache(path) as cache:
        found = _read(cache.find(key), made)
        if found is None:
            found = prove()
            if found.verdict == "proved":
                cache.add(key, {"kernels": list(found.kernels), "sizes": dict(found.sizes), "domain": found.domain})
        return found


def _read(value: Json, made: CudaScan) -> MovementProof | None:
    """None for what is not such a proof: it is made anew."""
    match value:
        case {"kernels": [*kernels], "sizes": {**sizes}, "domain": str(domain)} if sizes and domain:
            known: tuple[Kernel, ...] = tuple([k for k in made.kernels if k in kernels])
            launched: dict[str, list[list[int]]] = {}
            for name, rows in sizes.items():
                numbers = (
                    [[n for n in row if type(n) is int] for row in rows if isinstance(row, list)]
                    if isinstance(rows, list)
                    else []
                )
                launched[name] = numbers
            if len(known) == len(kernels) and all(rows and all(rows) for rows in launched.values()):
                return MovementProof("proved", known, launched, domain, is_kept=True)
        case _:
            pass
    return None


def attempt(launch: str, kernels: tuple[Kernel, ...], prove: Callable[[], None]) -> MovementProof | None:
    """None where the launch is proved."""
    try:
        prove()
    except (FaultError, WrongError) as error:
        told = error.fault.message if isinstance(error, FaultError) else str(error)
        return MovementProof("refuted", kernels, reason=f"{launch}: {told}")
    except NotSeenError as error:
        return MovementProof("unchecked", kernels, reason=f"{launch}: {error}")
    except UnsupportedError as error:
        return MovementProof("unchecked", kernels, reason=f"{launch}: {one_line(error.diagnostics[0])}")
    return None


def any_operator(made: CudaScan) -> str:
    """The domain's words for the operators of which the movement is proved."""
    said = "every associative operator with an identity, its functions compiled as calls of pure functions"
    operator = made.body.operator
    if any(e.sort.base == "bool" for e in (*operator.fields, *operator.loop.fields, *operator.projection)):
        said += ", truth values as whole numbers"
    return said
