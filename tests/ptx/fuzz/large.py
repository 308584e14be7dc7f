"""Large hostile texts: what takes time that grows faster than the text shows here."""

from __future__ import annotations

from tests.ptx.syntax.spellings import HEADER


def large_texts(size: int) -> dict[str, str]:
    """Texts of about `size` characters or more, by what they try."""
    body = HEADER + ".entry k() {\n"
    words = size // 8
    return {
        "braces": body + "{" * size,
        "braces closed": body + "{" * size + "}" * size,
        "parentheses": body + "x " + "(" * size,
        "parentheses on a line of a declaration": ".global .b32 x = " + "(" * size + "1" + ")" * size + ";",
        "brackets": body + "x " + "[" * size + ";",
        "subscripts": body + "x " + "a[" * (size // 2) + ";",
        "vectors": body + "x " + "{a, " * (size // 4) + ";",
        "initialisers": ".global .b32 x[] = " + "{" * size,
        "minus signs": ".global .b32 x = " + "-" * size + "1;",
        "conditionals": ".global .b32 x = " + "1 ? " * (size // 4) + "1;",
        "additions": ".global .b32 x = " + "1+" * (size // 2) + "1;",
        "operands": body + "x " + "a, " * (size // 3) + "a; ret; }",
        "labels": body + "a :b :c :" * (size // 9) + "}",
        "labels with spaces": body + ("a" + " " * 50 + ": ") * (size // 53) + "}",
        "labels on lines": body + "".join(f"L{n}:\n" for n in range(words)) + "}",
        "label without end": body + "a" * size,
        "long name": body + f"add.s32 {'a' * size}, b, c; }}",
        "long modifiers": body + "add" + ".x" * (size // 2) + " a; }",
        "long colons": body + "add.x" + "::y" * (size // 3) + " a; }",
        "long number": body + f"x {'1' * size}; }}",
        "long hexadecimal": body + f"x 0x{'f' * size}; }}",
        "long float": body + f"x 1.{'1' * size}; }}",
        "unclosed comment": body + "/*" + "* / " * (size // 4),
        "unclosed comments": body + "/* x " * (size // 5),
        "comments": body + "/* x */" * (size // 7) + "}",
        "slashes": body + "/ " * (size // 2),
        "line comments": body + "// x\n" * (size // 5) + "}",
        "unclosed string": HEADER + '.file 1 "' + "a" * size,
        "quotes": HEADER + '.pragma "' + '\\"' * (size // 2),
        "strings": HEADER + ".pragma " + '"a", ' * (size // 5) + '"b";',
        "spaces": body + " " * size + "}",
        "spaces in operands": body + "add a" + " " * size + "b; }",
        "spaces in vectors": body + "add {a" + " " * size + "b}; }",
        "spaces before semicolons": body + ("ret" + " " * 99 + ";") * (size // 103) + "}",
        "zero bytes": "\0" * size,
        "unclosed section": ".section .debug_str {" + "/" * size,
        "section of strings": ".section .debug_str {" + '"' * size,
        "unknown directives": ".future (" * (size // 9),
        "unknown directive lines": ".future a\n" * (size // 10),
        "unknown directives on one line": ".a " * (size // 3),
        "linkage": ".visible " * (size // 9),
        "header directives": ".entry k() " + ".x 1, " * (size // 6) + "{ ret; }",
        "parameters": ".entry k(" + ", ".join(f".param .b32 a{n}" for n in range(size // 15)) + ") { ret; }",
        "registers": body + "".join(f".reg .b32 r{n};" for n in range(size // 15)) + "}",
        "register ranges": body + "".join(f".reg .b32 %a{n}_<99999>;" for n in range(size // 20)) + "}",
        "same names": body + ".reg .b32 r;" * (size // 12) + "}",
        "large range": body + ".reg .b32 %r<1000000>; add.s32 %r999999, %r1, %r2; ret; }",
        "undeclared": body + "add.s32 a, b, c; " * (size // 17) + "}",
        "blocks": body + "{ .reg .b32 r; add.s32 r, r, r; }" * (size // 33) + "}",
        "functions": "".join(f".func f{n}() {{ ret; }}\n" for n in range(size // 20)),
        "same function": ".func f() { ret; }\n" * (size // 19),
        "branches": body + ".reg .pred p;" + "".join(f"L{n}: @p bra L{n // 2};" for n in range(min(1000, size // 20))) + "}",
        "chain": body + ".reg .pred p;" + "".join(f"@p bra L{n}; L{n}:" for n in range(size // 20)) + "ret; }",
        "guards": body + "@p " * (size // 3),
        "line of errors": body + "add.s32 x;" * (size // 10) + "}",
    }  # fmt: skip
