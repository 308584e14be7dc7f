"""CSV by an automaton: commas and line ends count outside of quotes only. A piece may begin inside of quotes: it tells both."""

import warploom as wl


def separators(text: str):
    quoted = False
    count = 0
    for c in text:
        if c == '"':
            quoted = not quoted
        elif not quoted and (c == "," or c == "\n"):
            count += 1
    return count


if __name__ == "__main__":
    found = wl.lift(separators)
    print(f"{found.status}, {found.verdict} over {found.domain}")
    print("  one piece:", ", ".join(found.fields))
    made = found.emit("spark")  # zero, update, merge, finish
    module: dict = {}
    exec(made.source, module)
    text = 'name,motto\n"Ann, the first","one\ntwo"\nBob,"""yes"""\n' * 100
    state = module["zero"]()
    for begin in range(0, len(text), 97):
        piece = module["update"](module["zero"](), [ord(c) for c in text[begin : begin + 97]])
        state = module["merge"](state, piece)
    print(f"{made.verdict}; pieces of 97 characters: {module['finish'](state)} separators, the loop counts {separators(text)}")
