"""Lifted loops over real data, in processes, threads or a cluster.

Takes a lifted loop and an array or an iterable. Gives the result of the loop, or all its prefixes, in order. Open
`map_reduce.py` first.
"""

from warploom.scan.parallel.chunks import TextLines, text_lines
from warploom.scan.parallel.compiled import ArrayScan, NotMeantError, Way
from warploom.scan.parallel.map_reduce import map_reduce, map_scan

__all__ = ["ArrayScan", "NotMeantError", "TextLines", "Way", "map_reduce", "map_scan", "text_lines"]
