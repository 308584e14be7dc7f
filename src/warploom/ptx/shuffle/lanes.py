"""Code at a kernel's start that computes which lanes have which neighbours."""

from __future__ import annotations

from warploom.machines import WARP_LANES
from warploom.ptx.shuffle.plan import BlockShape, Neighbour
from warploom.ptx.shuffle.registers import FreshRegisters

LAST_LANE = WARP_LANES - 1


class LaneValues:
    """Registers with facts about this lane; each is computed at most once, when somebody asks for it."""

    def __init__(self, fresh: FreshRegisters, shape: BlockShape) -> None:
        self.fresh = fresh
        self.shape = shape
        self.prologue: list[str] = []
        """Instructions for the kernel's start."""
        self._values: dict[str, str] = {}

    def without_source(self, neighbour: Neighbour, corner: str, incomplete: str) -> str:
        """Sets the predicate `corner`: the warp is incomplete, or has no such neighbour of this lane in its row or plane."""
        x = neighbour.x
        if neighbour.y:
            return f"or.pred {corner}, {self._outside(neighbour)}, {incomplete};"
        if x > 0:
            if self.shape.whole_rows:
                return f"setp.gt.or.u32 {corner}, {self.lane}, {LAST_LANE - x}, {incomplete};"
            return f"setp.le.or.u32 {corner}, {self._room_above()}, {x}, {incomplete};"
        below = self.lane if self.shape.whole_rows else self._room_below()
        return f"setp.lt.or.u32 {corner}, {below}, {-x}, {incomplete};"

    def not_one_row(self, incomplete: str) -> tuple[str, list[str]]:
        """A predicate that the warp is incomplete or not within one row, the same in all its lanes, and how to compute it."""
        if self.shape.whole_rows:
            return incomplete, []
        broken = self.fresh.new("pred")
        return broken, [f"or.pred {broken}, {self._broken_row()}, {incomplete};"]

    def _broken_row(self) -> str:
        """Whether the 32 threads around this lane are not all of one row."""
        x, lane, width = self._special("tid.x"), self.lane, self._special("ntid.x")
        first = self._value("row start", "b32", f"sub.u32 {{}}, {x}, {lane};")
        last = self._value("row end", "b32", f"add.u32 {{}}, {first}, {WARP_LANES};")
        return self._value(
            "broken row", "pred", f"setp.lt.u32 {{}}, {x}, {lane};", f"setp.gt.or.u32 {{}}, {last}, {width}, {{}};"
        )

    @property
    def lane(self) -> str:
        return self._special("laneid")

    def lane_of(self, neighbour: Neighbour) -> str:
        """The neighbour's lane, if it is in this warp."""
        near = self._value(f"lane {neighbour.x}", "b32", f"add.s32 {{}}, {self.lane}, {neighbour.x};")
        if not neighbour.y:
            return near
        width = self._special("ntid.x")
        return self._value(f"lane {neighbour}", "b32", f"mad.lo.s32 {{}}, {width}, {neighbour.y}, {near};")

    def _value(self, name: str, kind: str, *lines: str) -> str:
        """A value computed once, when the kernel starts; `{}` in the lines is its register."""
        register = self._values.get(name)
        if register is None:
            register = self._values[name] = self.fresh.new(kind)
            self.prologue += [line.replace("{}", register) for line in lines]
        return register

    def _special(self, name: str) -> str:
        return self._value(name, "b32", f"mov.u32 {{}}, %{name};")

    def _room_above(self) -> str:
        """Distance from this lane to the end of the warp or the end of the row, whichever is nearer: at least 1."""
        x, width = self._special("tid.x"), self._special("ntid.x")
        end = self._value("warp rest", "b32", f"sub.u32 {{}}, {WARP_LANES}, {self.lane};")
        rest = self._value("row rest", "b32", f"sub.u32 {{}}, {width}, {x};")
        return self._value("room above", "b32", f"min.u32 {{}}, {rest}, {end};")

    def _room_below(self) -> str:
        """Number of lanes of the same row that lie below this one in its warp."""
        x, lane = self._special("tid.x"), self.lane
        return self._value("room below", "b32", f"min.u32 {{}}, {x}, {lane};")

    def _outside(self, neighbour: Neighbour) -> str:
        """Whether the neighbour is not in this warp, its row or its block's plane."""
        lane = self.lane_of(neighbour)
        in_row = self._shifted("tid.x", neighbour.x)
        in_plane = self._shifted("tid.y", neighbour.y)
        width, height = self._special("ntid.x"), self._special("ntid.y")
        return self._value(
            f"outside {neighbour}", "pred",
            f"setp.gt.u32 {{}}, {lane}, {LAST_LANE};",
            f"setp.ge.or.u32 {{}}, {in_row}, {width}, {{}};",
            f"setp.ge.or.u32 {{}}, {in_plane}, {height}, {{}};",
        )  # fmt: skip

    def _shifted(self, special: str, amount: int) -> str:
        register = self._special(special)
        if amount == 0:
            return register
        return self._value(f"{special} {amount}", "b32", f"add.s32 {{}}, {register}, {amount};")
