"""Self-contained HTML pages: no network, no library, opened from a file.

Takes a `Page`. Gives its HTML (`render`). Open `page.py` first.
"""

from warploom.tools.html.page import Page, render

__all__ = ["Page", "render"]
