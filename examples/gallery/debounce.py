"""A button that counts as pressed after three equal samples: the automaton of a piece, for every state it may start in."""

import warploom as wl


def presses(samples: list[bool]):
    state = 0
    pressed = 0
    for s in samples:
        if s:
            if state == 2:
                pressed += 1
            state = min(state + 1, 3)
        else:
            state = 0
    return pressed


if __name__ == "__main__":
    found = wl.lift(presses)
    print(f"{found.status}, {found.verdict} over {found.domain}")
    print("  one piece:", ", ".join(found.fields))
