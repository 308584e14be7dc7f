"""Small random spaces with every kind of declaration."""

from __future__ import annotations

from random import Random

from warploom.solve.space import Lowering, Space

from .naive import World


def random_world(seed: int) -> World:
    random = Random(seed)
    space = Space(f"random {seed}")
    statements = space.set("Statements")
    dims = space.set("Dims", within=statements)
    extents = space.set("Extents")
    axes = space.set("Axes")
    tiles = space.set("Tiles", within=extents, of=axes)
    values = ("BEFORE", "AFTER", "MERGED")[: random.choice((2, 3))]
    order = space.enum("order", (statements, statements), values, antisymmetric={"BEFORE": "AFTER"})
    kind = space.enum("kind", (dims,), ("LOOP", "THREAD"))
    has_same = random.random() < 0.7
    same = space.enum("same", (dims, dims), ("YES", "NO"), symmetric=True) if has_same else None
    size = space.integer("size", (extents,))
    extent = space.function("extent")
    odd = space.fact("odd", 1)
    pair = space.fact("pair", 2)
    weight = space.constant("weight", 1)
    a, b, c, x, e = space.objects("a b c x e")
    has_quotient = has_same and random.random() < 0.7
    threads = dims
    if has_quotient:
        condition = same.is_("YES") if random.random() < 0.5 else same.is_not("YES")
        threads = space.quotient("ThreadDims", of=dims, when=kind.is_("THREAD"), by=condition, flag="is_thread")

    def literal(objects, *, only_enums=False):
        statement = random.choice(objects)
        other = random.choice([o for o in objects if o is not statement] or [None])
        dim_objects = [o for o in objects if o in over_dims]
        options = []
        if other is not None:
            options += [order(statement, other).is_(random.choice(values)), order(statement, other).is_not(random.choice(values))]
        if dim_objects:
            d = random.choice(dim_objects)
            d2 = random.choice([o for o in dim_objects if o is not d] or [None])
            options += [kind(d).is_(random.choice(("LOOP", "THREAD")))] * 2
            if has_same and d2 is not None:
                options += [same(d, d2).is_(random.choice(("YES", "NO")))] * 2
            if not only_enums:
                options.append(random.choice((odd(d), ~odd(d))))
                limit = random.choice((2, 3, 4, weight(d)))
                options += [random.choice((size(extent(d)) <= limit, size(extent(d)) != limit, size(extent(d)) > limit))]
                if d2 is not None:
                    s, t = size(extent(d)), size(extent(d2))
                    options += [random.choice((s == t, s != t, s <= t, s < t, s >= t, pair(d, d2)))]
        return random.choice(options) if options else None

    for n in range(random.randint(1, 4)):
        objects = random.choice(([a, b], [a, b, c], [a]))
        over_dims = [o for o in objects if random.random() < 0.6]
        quantified = {o: random.choice((dims, dims, threads)) if o in over_dims else statements for o in objects}
        literals = [
            x for x in (literal(objects, only_enums=random.random() < 0.5) for _ in range(random.randint(1, 3))) if x is not None
        ]
        if literals and (len(literals) > 1 or random.random() < 0.3):
            space.require(f"random {n}", quantified, literals)
    if random.random() < 0.7:
        over_dims = [a]
        when = [x for x in (literal([a], only_enums=random.random() < 0.5) for _ in range(random.randint(0, 2))) if x is not None]
        is_product = random.random() < 0.5
        value = random.choice((size(extent(a)), weight(a), 2))
        counted = {"product": value} if is_product else {"sum": value}
        total = space.counter("total", over={a: threads}, when=when, **counted)
        limit = random.choice((2, 3, 4, 6, 8))
        space.require("total", {}, [random.choice((total() <= limit, total() < limit, total() >= limit, total() == limit))])
    if random.random() < 0.5:
        over_dims = [a, b]
        when = [
            order(a, b).is_("BEFORE"),
            *(x for x in [literal([b], only_enums=True)] if x is not None and random.random() < 0.5),
        ]
        per = space.counter("per", of={a: statements}, over={b: dims}, sum=1, when=when)
        space.require("per", {a: dims}, [per(a) <= random.choice((0, 1)), kind(a).is_("LOOP")])
        if random.random() < 0.5:
            nested = space.counter("nested", over={a: dims}, sum=per(a), when=[kind(a).is_(random.choice(("LOOP", "THREAD")))])
            space.require("nested", {}, [nested() <= random.choice((1, 2))])
    if random.random() < 0.6:
        exact = random.choice((True, False, odd(x)))
        outermost = space.function("outermost")
        space.cover(
            "cover",
            {x: axes},
            total=space.constant("length", 1)(x),
            outer=size(outermost(x)),
            tiles=size(e),
            over={e: tiles(x)},
            exact=exact,
        )
    count = random.choice((2, 3)) if len(values) == 2 else 2
    listed = list(range(count))
    dim_list = listed if count == 2 else listed[1:]
    extent_list = [10, 11]
    tile_list = [(20, 11)]
    lowerings = {}
    if random.random() < 0.6:
        space.trigger("lower", {a: dims}, [kind(a).is_("THREAD")], activates=(statements, dims, tiles))
        members = [("Statements", count)] if random.random() < 0.5 else [("Dims", count)]
        restrictions = [("order", (0, count), ("BEFORE",))] if random.random() < 0.5 else []
        lowerings["lower", (dim_list[0],)] = Lowering(tuple(members), tuple(restrictions))
        if random.random() < 0.5:
            lowerings["lower", (dim_list[1],)] = Lowering((("Dims", count),), (("kind", (count,), ("LOOP",)),))
    if random.random() < 0.3:
        over_dims = []
        space.trigger("pair up", {a: statements, b: statements}, [order(a, b).is_("BEFORE")], activates=(dims,))
        lowerings["pair up", (0, 1)] = Lowering((("Dims", 0),) if 0 not in dim_list else (("Dims", 1),), ())
    universes = {
        ("size", (10,)): tuple(sorted(random.sample((1, 2, 3, 4, 6), 2))),
        ("size", (11,)): random.choice(((2, 3), (2, 4), (1, 3))),
    }
    reserved = any(thing == count for lowering in lowerings.values() for _, thing in lowering.members)
    if random.random() < 0.6:
        partner = space.function("partner")
        near = random.choice((dims, statements))
        beside = kind(a).is_("LOOP") if near is dims else order(a, partner(a)).is_not("BEFORE")
        space.require("partners", {a: near}, [beside, kind(partner(a)).is_(random.choice(("LOOP", "THREAD")))])
    return World(
        space,
        {"Statements": listed, "Dims": dim_list, "Extents": extent_list, "Axes": [20], "Tiles": tile_list},
        universes,
        {
            "extent": {n: 10 + n % 2 for n in range(count + 1)},
            "outermost": {20: 10},
            "partner": {n: (n + 1) % (count + reserved) for n in range(count + reserved)},
        },
        {"odd": lambda thing: thing % 2 == 1, "pair": lambda p, q: (p + q) % 2 == 0},
        {"weight": lambda thing: 1 + thing % 3, "length": lambda thing: random_length(seed)},
        lowerings,
    )


def random_length(seed: int) -> int:
    return (4, 6, 8, 5)[seed % 4]
