"""Python files of users as modules."""

from __future__ import annotations

import importlib.util
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import CodeType


class _TextLoader(SourceFileLoader):
    """Compiles the text as it stands. Kept bytecode counts for any text of one length that was written within one second."""

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


def module_of_file(name: str, file: Path) -> ModuleSpec | None:
    """How a file is loaded under a name; None for an ending that Python does not run."""
    found = importlib.util.spec_from_file_location(name, file)
    if found is not None and isinstance(found.loader, SourceFileLoader):
        found.loader = _TextLoader(name, str(file))
    return found
