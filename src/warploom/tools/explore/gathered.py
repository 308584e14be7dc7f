"""Index arrays of a kernel's gathers, and what a proof takes for granted of them."""

from __future__ import annotations

from warploom.schedule.backbone import Backbone, Role, gathered_by
from warploom.synth.compiled import IndexArray, IndexArrays


def index_arrays_of(stage: Backbone) -> IndexArrays | None:
    """None: the stage has no gathers. UnsupportedError (PROOF_GATHER) for one that is not followed."""
    ranges = gathered_by(stage).ranges
    inputs = {r.name: r for r in stage.regions if r.role is Role.INPUT}
    known = {name: IndexArray(inputs[name].dtype, held) for name, held in ranges.items()}
    return IndexArrays({name: (r.dtype, (r.elements,)) for name, r in inputs.items()}, known) if known else None
