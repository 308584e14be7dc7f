"""Finite-domain search shared by every open decision; the SMT layer; executor, journal, event log, result cache. Knows no IR."""

from warploom.solve.arithmetic import Arithmetic, Found, Handle
from warploom.solve.best_first import BestFirst, best_first
from warploom.solve.bitvectors import BitOperation, BitVector, BitVectors
from warploom.solve.cache import ResultCache, default_cache_path
from warploom.solve.cluster import OtherSourceError, cluster_executor
from warploom.solve.driver import (
    UNLIMITED,
    Alternative,
    Budget,
    Cost,
    Goal,
    Model,
    Outcome,
    Statistics,
    StopSearchError,
    Strategy,
    declared_order,
    search,
    smallest_domain,
)
from warploom.solve.events import Event, EventLog, EventSink, emit, read_events
from warploom.solve.executor import Counts, Failed, Finished, Result, Task, run_tasks
from warploom.solve.finite import FiniteModel
from warploom.solve.incumbent import Child, Hints, Incumbent, Leaf, Measure, Progress
from warploom.solve.journal import Journal
from warploom.solve.jsonlines import Json
from warploom.solve.keys import problem_key, source_digest
from warploom.solve.mcts import Mcts, mcts
from warploom.solve.measure import Spent
from warploom.solve.parts import Part, Split
from warploom.solve.processes import WorkerDiedError, process_executor
from warploom.solve.refine import Refine, refine
from warploom.solve.smt import (
    FALSE,
    TRUE,
    All,
    Answer,
    ClauseSession,
    Constraint,
    Formula,
    Linear,
    Not,
    Sat,
    SmtSession,
    Some,
    Unknown,
    Unsat,
    conjunction,
    disjunction,
    negation,
    substitute,
    variable,
)
from warploom.solve.words import Word, WordConst, WordOp, WordVar, differing_words

__all__ = [
    "FALSE",
    "TRUE",
    "UNLIMITED",
    "All",
    "Alternative",
    "Answer",
    "Arithmetic",
    "BestFirst",
    "BitOperation",
    "BitVector",
    "BitVectors",
    "Budget",
    "Child",
    "ClauseSession",
    "Constraint",
    "Cost",
    "Counts",
    "Event",
    "EventLog",
    "EventSink",
    "Failed",
    "Finished",
    "FiniteModel",
    "Formula",
    "Found",
    "Goal",
    "Handle",
    "Hints",
    "Incumbent",
    "Journal",
    "Json",
    "Leaf",
    "Linear",
    "Mcts",
    "Measure",
    "Model",
    "Not",
    "OtherSourceError",
    "Outcome",
    "Part",
    "Progress",
    "Refine",
    "Result",
    "ResultCache",
    "Sat",
    "SmtSession",
    "Some",
    "Spent",
    "Split",
    "Statistics",
    "StopSearchError",
    "Strategy",
    "Task",
    "Unknown",
    "Unsat",
    "Word",
    "WordConst",
    "WordOp",
    "WordVar",
    "WorkerDiedError",
    "best_first",
    "cluster_executor",
    "conjunction",
    "declared_order",
    "default_cache_path",
    "differing_words",
    "disjunction",
    "emit",
    "mcts",
    "negation",
    "problem_key",
    "process_executor",
    "read_events",
    "refine",
    "run_tasks",
    "search",
    "smallest_domain",
    "source_digest",
    "substitute",
    "variable",
]
