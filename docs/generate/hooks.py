"""Hooks of MkDocs: generated pages are added, and links out of the documentation lead to the repository."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from docs.generate import reference  # noqa: E402
from mkdocs.exceptions import PluginError  # noqa: E402
from mkdocs.structure.files import File, Files  # noqa: E402


def on_files(files: Files, config: Any) -> Files:
    """Adds the pages that are made of the code."""
    for name, made in reference.PAGES.items():
        files.append(File.generated(config, name, content=made()))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Links to files beside `docs` become links to the repository; a file that is not there ends the build."""

    def linked(match: re.Match[str]) -> str:
        target, _, anchor = match[1].partition("#")
        path = (ROOT / "docs" / page.file.src_uri).parent.joinpath(target).resolve()
        if path.is_relative_to(ROOT / "docs"):
            return match[0]
        if not path.is_relative_to(ROOT) or not path.exists():
            raise PluginError(f"{page.file.src_uri}: there is no {target}")
        kind = "tree" if path.is_dir() else "blob"
        url = f"{config['repo_url']}/{kind}/main/{path.relative_to(ROOT)}"
        return f"]({url}{'#' + anchor if anchor else ''})"

    return re.sub(r"\]\(((?:\.\./)+[^)]*)\)", linked, markdown)


def on_post_build(config: Any) -> None:
    """No page takes a font, script, style or picture from another server."""
    for path in Path(config["site_dir"]).rglob("*.html"):
        found = re.search(
            r"""<(?:script|img|iframe)[^>]*\ssrc=["']?(?:https?:)?//|<link[^>]*rel=["']?(?:stylesheet|preconnect)["']?[^>]*href=["']?(?:https?:)?//""",
            path.read_text(encoding="utf-8"),
        )
        if found:
            raise PluginError(f"{path}: {found[0]} is from another server")
