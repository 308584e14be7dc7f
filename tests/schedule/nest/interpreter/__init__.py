"""The reference interpreter of loop nests, an oracle of the tests: slow, adversarial, and without a line of what it checks.

Takes a nest and arrays. Gives its outputs, or NestError where the nest has no meaning. Open `interpret.py` first.
"""

from tests.schedule.nest.interpreter.errors import NestError
from tests.schedule.nest.interpreter.interpret import interpret

__all__ = ["NestError", "interpret"]
