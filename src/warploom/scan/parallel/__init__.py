"""Lifted loops over real data: processes, threads or a cluster; order is kept."""

from warploom.scan.parallel.chunks import TextLines, text_lines
from warploom.scan.parallel.map_reduce import map_reduce, map_scan

__all__ = ["TextLines", "map_reduce", "map_scan", "text_lines"]
