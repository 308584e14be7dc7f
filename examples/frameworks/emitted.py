"""The module that `warploom scan emit falls.py:fall --for FRAMEWORK` writes."""

from types import ModuleType

from falls import fall

import warploom as wl


def module_for(framework: str) -> ModuleType:
    made = ModuleType(f"fall_{framework}")
    exec(wl.lift(fall).emit(framework).source, made.__dict__)
    return made
