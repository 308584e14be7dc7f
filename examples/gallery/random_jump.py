"""A linear congruential generator: any number of steps is one multiplication and one addition, so that threads can jump ahead."""

import warploom as wl


def generator(adds: list[int]):
    state = 1
    for a in adds:
        state = (1664525 * state + a) % 2**32
    return state


if __name__ == "__main__":
    found = wl.lift(generator)
    print(f"{found.status}, {found.verdict} over {found.domain}")
    print("  one piece:", ", ".join(found.fields))
