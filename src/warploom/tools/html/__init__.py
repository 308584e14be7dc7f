"""Self-contained HTML pages: no network, no library, opened from a file.

`page.py` takes a sketch as a `Page` and gives its HTML (`render`); `shell.py` is the frame of all pages, which needs nothing else.
"""
