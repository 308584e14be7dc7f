"""Planted bugs that change no answer, by key, with the reason."""

EQUIVALENT: dict[str, str] = {}
