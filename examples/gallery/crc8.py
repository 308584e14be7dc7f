"""CRC-8 of a stream of bits: the state is a word over GF(2), and pieces are joined by a product of polynomials."""

import warploom as wl


def crc8(bits: list[bool]):
    state = 0
    for bit in bits:
        top = state >> 7 & 1
        state = state << 1 & 255
        if top != bit:
            state = state ^ 7
    return state


if __name__ == "__main__":
    found = wl.lift(crc8)
    print(f"{found.status}, {found.verdict} over {found.domain}")
    print("  one piece:", ", ".join(found.fields))
    made = found.emit("dask")  # zero, update, merge, finish
    module: dict = {}
    exec(made.source, module)
    bits = [bool(byte >> k & 1) for byte in b"123456789" for k in reversed(range(8))]
    left, right = (module["update"](module["zero"](), part) for part in (bits[:29], bits[29:]))
    found_crc = module["finish"](module["merge"](left, right))
    print(f"{made.verdict}; of two pieces of '123456789': {found_crc:#04x}, as everybody has it: 0xf4")
