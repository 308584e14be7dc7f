"""Interleaved RGB to planes: a warp loads the 96 words of 32 pixels side by side; each lane ends with those of its own.

Shuffles and selects are counted: 3 and 6 a pixel, and none is cheaper.
"""

import warploom as wl

PROGRAM = """
x: [96] = range(0, 96)
loaded: [32, 3] = load_rep(x)
within: [32, 3] = ?row(loaded)
across: [32, 3] = ?col(within)
order: [32, 3] = ?row(across)
goal: [32, 3] trove
"""

if __name__ == "__main__":
    done = wl.solve(PROGRAM)
    print(f"{done.status}, {done.verdict} over {done.line['domain']}")
    for name, text in done.holes.items():
        print(f"  {name} = {text}")
    print(f"  {done.line['shuffles']} shuffles, {done.line['selects']} selects")
