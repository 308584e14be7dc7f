"""The semantic backbone of a kernel: what it computes, without an order or a place.

Takes statements that `schedule.frontend` builds, or text. Gives a verified `Backbone`, its text and its reference results. Open
`nodes.py` first.
"""

from warploom.schedule.backbone.again import kept_along_open_sums, made_again, open_sums
from warploom.schedule.backbone.bounded import Bounded, can_bound, evaluate_bounded
from warploom.schedule.backbone.build import assemble, backbone, extents_of
from warploom.schedule.backbone.counts import count_compulsory_bytes, count_flops
from warploom.schedule.backbone.evaluate import compute, evaluate, evaluate_program
from warploom.schedule.backbone.exact import converts_to_integers, exact_whole, only_chooses
from warploom.schedule.backbone.extremes import paired_extremes
from warploom.schedule.backbone.following import followers, named_by, needed, source_of, summands_of, waits_for_sum
from warploom.schedule.backbone.gathered import Gathered, gathered_by
from warploom.schedule.backbone.inputs import Content, inputs_of, marks_of, places_of, random_array, random_inputs, turns_of
from warploom.schedule.backbone.joined import unlike
from warploom.schedule.backbone.nodes import (
    MOST_AT_RUN_TIME,
    MOST_BESIDE_SIZE,
    Access,
    Axis,
    AxisSum,
    Backbone,
    Carry,
    Constant,
    Dim,
    Extent,
    Instruction,
    Mask,
    Operand,
    Operator,
    Parameter,
    Position,
    Previous,
    Region,
    Result,
    Rewritten,
    Role,
    RunTimeSize,
    Scope,
)
from warploom.schedule.backbone.once import read_once, repeated
from warploom.schedule.backbone.operators import ARITY, COMPARING, FLOAT_ONLY, FREE, FUNCTIONS, REDUCING, ROWS, identity_of
from warploom.schedule.backbone.parse import parse_backbone
from warploom.schedule.backbone.products import added_products
from warploom.schedule.backbone.programs import (
    Program,
    at_known_sizes,
    at_sizes,
    numbers_at_run_time,
    open_lengths,
    run_time_sizes,
    run_time_values,
    stage_at,
)
from warploom.schedule.backbone.region_places import NoWindowError, reduced
from warploom.schedule.backbone.repetitions import Repetition, joined_repetition, repetition
from warploom.schedule.backbone.running import reads_running, running, serial_axes
from warploom.schedule.backbone.symbolic import Elements, evaluate_terms
from warploom.schedule.backbone.symmetric import Symmetry, symmetry_of
from warploom.schedule.backbone.text import access_text, axis_sum_text, backbone_text, operand_text
from warploom.schedule.backbone.tiled import tiled_sums
from warploom.schedule.backbone.tilings import (
    AxisUse,
    Levels,
    TilePolicy,
    Tiles,
    TileTable,
    cpu_tiles,
    cuda_tiles,
    matrix_tiles,
    no_tiles,
    paper_tiles,
    tilings,
)
from warploom.schedule.backbone.verify import verify
from warploom.schedule.backbone.widened import matrix_factors, matrix_of, widened, widens
from warploom.schedule.backbone.window import (
    Use,
    Window,
    count_stored,
    evaluate_window,
    moved,
    points_of,
    stores_all,
    uses_of,
)
from warploom.schedule.backbone.words import in_words

__all__ = [
    "ARITY", "COMPARING", "FLOAT_ONLY", "FREE", "FUNCTIONS", "MOST_AT_RUN_TIME", "MOST_BESIDE_SIZE", "REDUCING", "ROWS",
    "Access", "Axis", "AxisSum", "AxisUse", "Backbone", "Bounded", "Carry", "Constant", "Content", "Dim", "Elements",
    "Extent", "Gathered", "Instruction", "Levels", "Mask", "NoWindowError", "Operand", "Operator", "Parameter", "Position",
    "Previous",
    "Program", "Region", "Repetition", "Result", "Rewritten", "Role", "RunTimeSize", "Scope", "Symmetry", "TilePolicy",
    "TileTable", "Tiles", "Use", "Window", "access_text", "added_products", "assemble", "at_known_sizes", "at_sizes",
    "axis_sum_text", "backbone", "backbone_text", "can_bound", "compute", "converts_to_integers", "count_compulsory_bytes",
    "count_flops",
    "count_stored", "cpu_tiles",
    "cuda_tiles", "evaluate", "evaluate_bounded", "evaluate_program", "evaluate_terms", "evaluate_window", "exact_whole",
    "extents_of", "followers", "gathered_by", "identity_of", "in_words", "inputs_of", "joined_repetition", "kept_along_open_sums",
    "made_again", "marks_of", "matrix_factors", "matrix_of", "matrix_tiles", "moved", "named_by", "needed", "no_tiles",
    "numbers_at_run_time", "only_chooses", "open_lengths", "open_sums", "operand_text", "paired_extremes", "paper_tiles",
    "parse_backbone",
    "places_of", "points_of", "random_array", "random_inputs", "read_once", "reads_running", "reduced", "repeated",
    "repetition", "run_time_sizes", "run_time_values", "running", "serial_axes", "source_of", "stage_at", "stores_all",
    "summands_of",
    "symmetry_of", "tiled_sums", "tilings", "turns_of", "unlike", "uses_of", "verify", "waits_for_sum", "widened", "widens",
]  # fmt: skip
