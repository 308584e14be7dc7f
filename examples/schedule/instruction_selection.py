"""Instructions for a straight-line block: which products are fused into the sums that use them, and the cycle of each.

The same language that describes kernels, for another problem: choices, dependences, and one issue slot per cycle.
"""

from collections.abc import Iterator, Sequence
from functools import partial

from warploom.solve import Alternative, Cost, search
from warploom.solve.space import Candidate, CompiledSpace, Instance, Space

BLOCK = {  # y = a*b + c*d + e*f;  z = (c*d) * y + e
    "ab": ("mul", "a", "b"),
    "cd": ("mul", "c", "d"),
    "ef": ("mul", "e", "f"),
    "s": ("add", "ab", "cd"),
    "y": ("add", "s", "ef"),
    "p": ("mul", "cd", "y"),
    "z": ("add", "p", "e"),
}
CYCLES = range(8)
SLOTS = 1


def block_space() -> Space:
    space = Space("block")
    operations, cycles = space.set("Operations"), space.set("Cycles")
    products = space.set("Products", within=operations)
    form, cycle = space.enum("form", (operations,), ("ALONE", "FUSED")), space.integer("cycle", (operations,))
    uses, fusible, number = space.fact("uses", 2), space.fact("fusible"), space.constant("number", 1)
    o, u, m, n, t = space.objects("o u m n t")
    space.require("products of one sum", {o: operations}, [fusible(o), form(o).is_("ALONE")])
    space.require("a value first", {o: operations, u: operations}, [~uses(u, o), form(o).is_("FUSED"), cycle(o) < cycle(u)])
    space.require("fused: as one", {o: operations, u: operations}, [~uses(u, o), form(o).is_("ALONE"), cycle(o) == cycle(u)])
    space.require(
        "one product in each sum",
        {m: products, n: products, u: operations},
        [~uses(u, m), ~uses(u, n), form(m).is_("ALONE"), form(n).is_("ALONE")],
    )
    issued = space.counter(
        "issued", of={t: cycles}, over={o: operations}, sum=1, when=[cycle(o) == number(t), form(o).is_("ALONE")]
    )
    space.require("slots", {t: cycles}, [issued(t) <= space.constant("slots")])
    space.counter("instructions", over={o: operations}, sum=1, when=[form(o).is_("ALONE")])
    return space


def block_instance() -> Instance:
    users = {o: [u for u, (_, *operands) in BLOCK.items() if o in operands] for o in BLOCK}
    return Instance(
        CompiledSpace(block_space()),
        sets={"Operations": list(BLOCK), "Products": [o for o in BLOCK if BLOCK[o][0] == "mul"], "Cycles": CYCLES},
        universes={("cycle", (o,)): CYCLES for o in BLOCK},
        facts={
            "uses": lambda user, o: o in BLOCK[user],
            "fusible": lambda o: BLOCK[o][0] == "mul" and [BLOCK[u][0] for u in users[o]] == ["add"],
        },
        constants={"number": lambda t: t, "slots": SLOTS},
    )


class BlockModel:
    """The fewest cycles, then the fewest instructions."""

    def __init__(self) -> None:
        self.instance = block_instance()
        self.choices = [("form", (o,)) for o in BLOCK] + [("cycle", (o,)) for o in BLOCK]

    def root(self) -> Candidate | None:
        return self.instance.root()

    def open_choices(self, candidate: Candidate) -> Sequence[tuple[int, int]]:
        sizes = [len(candidate.values(choice, *objects)) for choice, objects in self.choices]
        return [(n, size) for n, size in enumerate(sizes) if size > 1]

    def alternatives(self, candidate: Candidate, choice: int) -> Iterator[Alternative[Candidate]]:
        name, objects = self.choices[choice]
        for value in candidate.values(name, *objects):
            yield Alternative(self.bound(candidate), partial(candidate.restrict, name, objects, (value,)))

    def bound(self, candidate: Candidate) -> Cost:
        last = max(int(candidate.values("cycle", o)[0]) for o in BLOCK)
        return last + 1, candidate.interval("instructions")[0]

    def answer(self, candidate: Candidate) -> tuple[Cost, Candidate]:
        return self.bound(candidate), candidate


if __name__ == "__main__":
    outcome = search(BlockModel())
    (((cycles, instructions), best),) = outcome.answers
    print(f"{cycles} cycles, {instructions} instructions{', the optimum' if outcome.complete else ''}")
    for o in sorted(BLOCK, key=lambda o: int(best.values("cycle", o)[0])):
        print(
            f"cycle {best.values('cycle', o)[0]}: {o} = {' '.join(BLOCK[o])}{' (fused)' * (best.values('form', o) == ('FUSED',))}"
        )
