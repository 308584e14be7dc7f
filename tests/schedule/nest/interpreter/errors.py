"""Errors of an interpreted nest."""


class NestError(RuntimeError):
    """The nest does something that has no meaning: a race, a read of what was never written, a place outside its buffer."""
