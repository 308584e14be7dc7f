"""Running results: functions whose loops hand values from an element to the next.

Takes a Python function with such a loop. Gives a `Recurrence`, the text of the serial loop that `scan` lifts (`serial_loop`), its
nest for C and CUDA, and runners of calls. Open `tree.py` first, then `reader.py`. `__init__.pyi` says what the package offers; a
name is imported when it is first used.

Goal: what tensor functions cannot say is called all the same, and handed to `scan`. Non-goals: a search, since the loop has an
order.
"""

from warploom.core.lazy import lazy_package

__getattr__, __dir__, __all__ = lazy_package(__name__, __file__)
