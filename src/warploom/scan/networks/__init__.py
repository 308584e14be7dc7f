"""Scan networks: pictures, validity for all operators, SIMD loops for every size, enumeration, composition.

Takes a picture or rows of moves for one size. Gives whether the network is a scan, a `Program` for every size, or a list of all
networks up to a size. Open `network.py` first, then `generalise.py`.
"""

from warploom.scan.networks.drawing import network_text, parse_network
from warploom.scan.networks.enumeration import Census, Limits, census, networks
from warploom.scan.networks.fewest import Fewest, fewest
from warploom.scan.networks.generalise import LARGEST, Generalised, NotGeneralised, generalise
from warploom.scan.networks.grammar import Template, guards, sources
from warploom.scan.networks.induction import Induction, prove_every_size
from warploom.scan.networks.intervals import Adjacency, Flaw, adjacency_of, flaw, lows
from warploom.scan.networks.listing import body, combine, index_maps, written
from warploom.scan.networks.modules import Composition, Module, completed, composed, gathered, grown, mine
from warploom.scan.networks.network import Dot, Network, Step, canonical, network
from warploom.scan.networks.program import At, Bound, Move, Phase, Program, first_failure, is_scan
from warploom.scan.networks.taxonomy import NAMED, harris, knowles, named_network, radix_brent_kung

__all__ = [
    "LARGEST", "NAMED", "Adjacency", "At", "Bound", "Census", "Composition", "Dot", "Fewest", "Flaw", "Generalised", "Induction",
    "Limits", "Module", "Move", "Network", "NotGeneralised", "Phase", "Program", "Step", "Template", "adjacency_of", "body",
    "canonical", "census", "combine", "completed", "composed", "fewest", "first_failure", "flaw", "gathered", "generalise",
    "grown", "guards", "harris", "index_maps", "is_scan", "knowles", "lows", "mine", "named_network", "network",
    "network_text", "networks", "parse_network", "prove_every_size", "radix_brent_kung", "sources", "written",
]  # fmt: skip
