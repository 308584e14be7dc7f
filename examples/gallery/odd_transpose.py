"""A transpose of 5 words by 32 lanes: structures of five words become one word of each lane. Every step is found and counted."""

import warploom as wl

PROGRAM = """
x: [160] = range(0, 160)
loaded: [32, 5] = load_rep(x)
within: [32, 5] = ?row(loaded)
across: [32, 5] = ?col(within)
order: [32, 5] = ?row(across)
goal: [32, 5] trove
"""

if __name__ == "__main__":
    done = wl.solve(PROGRAM)
    print(f"{done.status}, {done.verdict} over {done.line['domain']}")
    for name, text in done.holes.items():
        print(f"  {name} = {text}")
    print(f"  {done.line['shuffles']} shuffles, {done.line['selects']} selects")
