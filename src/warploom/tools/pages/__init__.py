"""HTML pages and pictures of kernels.

Takes a completed kernel or a trace of PTX. Gives the page or picture of its data movement. Open `page.py` first.
"""
