"""All parts, in the order in which the compiled space lists their choices and constraints."""

from __future__ import annotations

from functools import lru_cache

from warploom.schedule.choices.description.kept_totals import add_kept_totals
from warploom.schedule.choices.description.kinds import add_kinds, add_partials
from warploom.schedule.choices.description.limits import add_limits
from warploom.schedule.choices.description.memory import add_memory
from warploom.schedule.choices.description.order import add_flow, add_order
from warploom.schedule.choices.description.shared_sums import add_shared_sums
from warploom.schedule.choices.description.threads import add_threads
from warploom.schedule.choices.description.ties import add_ties
from warploom.schedule.choices.description.values import add_values
from warploom.schedule.choices.description.vocabulary import Flavour, Vocabulary
from warploom.solve.space import CompiledSpace


@lru_cache(maxsize=16)
def description(flavour: Flavour) -> CompiledSpace:
    words = Vocabulary(flavour)
    add_order(words)
    own_loop = add_flow(words)
    add_kinds(words)
    mapping = add_threads(words) if flavour.has_threads else None
    partials = add_partials(words) if flavour.features.partials else None
    if flavour.shares_sums:
        add_shared_sums(words, own_loop)
    add_values(words, own_loop, mapping)
    if flavour.keeps_totals and partials is not None:
        add_kept_totals(words, partials)
    add_memory(words)
    add_limits(words, mapping, partials)
    add_ties(words)
    return CompiledSpace(words.space)
