"""Where each kept element goes: its rank among the kept ones of its warp, counted by a vote instead of five shuffles."""

import warploom as wl
from warploom import i32, u32

n = wl.size("n")  # warps


def spec(x, rank, n):
    for w in range(n):
        for i in range(32):
            for j in range(i):
                rank[32 * w + i] += wl.holds(x[32 * w + j], ">", 0)


@wl.sketch(spec=spec, block=32, grid=n, complete_at={"n": 1})
def ranks(x: wl.Global[i32, 32 * n], rank: wl.Global[u32, 32 * n]):
    i = wl.global_id()
    kept = wl.ballot(x[i] > 0)
    lanes = wl.choose(wl.lane_id(), wl.lane_id() + 1, 31 - wl.lane_id(), name="lanes")  # how many lanes are below
    rank[i] = wl.popc(kept & ((wl.literal(u32, 1) << wl.cast(u32, lanes)) - 1))


if __name__ == "__main__":
    found = wl.complete(ranks)
    print(found.status, found.verdict, found.holes)
    print(found.domain)
