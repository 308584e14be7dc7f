"""Self-contained HTML pages: no network, no library, opened from a file."""

from warploom.tools.html.page import Page, render

__all__ = ["Page", "render"]
