"""Self-contained HTML pages: no network, no library, opened from a file.

`page.py`: Takes a sketch as a `Page`. Gives its HTML (`render`). `shell.py` is the frame of all pages, and loads nothing else.
Open `page.py` first.
"""
