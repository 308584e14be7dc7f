"""Element types and diagnostics."""

import pytest

from warploom.core import BY_NAME, Diagnostic, Span, bf16, scalar_of


def test_scalars_of_vectors() -> None:
    found = {t.name: scalar_of(t) for t in BY_NAME.values() if t.lanes > 1}
    assert found and all(s.lanes == 1 and s.bits == BY_NAME[n].bits and s.kind == BY_NAME[n].kind for n, s in found.items())
    assert bf16 not in found.values()


@pytest.mark.parametrize(
    ("end", "carets"),
    [((3, 8), "    ^^^"), ((3, 5), "    ^"), ((4, 2), "    ^^^^^^")],
    ids=["on the line", "empty", "over the end of the line"],
)
def test_carets_stand_under_the_span(end: tuple[int, int], carets: str) -> None:
    span = Span("file.py", 3, 5, *end, "abcdefghij\nklm")
    assert Diagnostic("CODE", "message", span).render().splitlines()[1:] == ["  abcdefghij", f"  {carets}"]


def test_a_span_without_text_has_no_excerpt() -> None:
    assert Diagnostic("CODE", "message", Span("file.py", 3, 5, 3, 8, ""), fix="Do it.").render().splitlines()[1:] == [
        "  fix: Do it."
    ]
