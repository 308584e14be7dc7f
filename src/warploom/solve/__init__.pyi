"""Names of the package; each is imported when it is first used."""

from .model import Alternative, Cost, Goal, Model, Strategy, declared_order, ordered, smallest_domain
from .runs.cache import ResultCache
from .runs.cluster import OtherSourceError, cluster_executor
from .runs.events import Event, EventLog, EventSink, emit, read_events
from .runs.executor import Counts, Failed, Finished, Result, Task, run_tasks
from .runs.journal import Journal
from .runs.jsonlines import Json
from .runs.keys import problem_key, source_digest
from .runs.measure import Spent
from .runs.processes import (
    ProcessExecutor,
    WorkerDiedError,
    available_cpus,
    is_importing_script,
    process_executor,
    starting_workers,
)
from .search.best_first import BestFirst, best_first
from .search.depth_first import depth_first, search
from .search.dives import TEMPERATURES, Dive
from .search.drafts import drafts
from .search.incumbent import PATIENCE, Child, Hints, Incumbent, Leaf, Measure, Progress
from .search.levels import Frontier, Levels, enumerate_levels, leaves_behind
from .search.mcts import Mcts, mcts
from .search.orders import DepthFirst, Order, OrderName, order_named, run_order
from .search.parts import Part, Split
from .search.refine import Refine, refine
from .search.spending import BUDGET_SPENT, UNLIMITED, Budget, Outcome, Statistics, StopSearchError
from .search.tree_size import Cut, Estimate, Probe, TreeSize, chen, estimated, knuth, sample, tree_size
from .smt.asking import Answer, Sat, Unknown, Unsat
from .smt.builder import BOOL, INT, REAL, Builder, Handle, Sort, SortError, word
from .smt.clauses import ClauseSession
from .smt.formulas import (
    FALSE,
    TRUE,
    All,
    Constraint,
    Formula,
    Not,
    SmtSession,
    Some,
    conjunction,
    disjunction,
    negation,
    substitute,
    together,
)
from .smt.word_identities import Word, WordConst, WordOp, WordVar, differing_words

__all__ = [
    "BOOL",
    "BUDGET_SPENT",
    "FALSE",
    "INT",
    "PATIENCE",
    "REAL",
    "TEMPERATURES",
    "TRUE",
    "UNLIMITED",
    "All",
    "Alternative",
    "Answer",
    "BestFirst",
    "Budget",
    "Builder",
    "Child",
    "ClauseSession",
    "Constraint",
    "Cost",
    "Counts",
    "Cut",
    "DepthFirst",
    "Dive",
    "Estimate",
    "Event",
    "EventLog",
    "EventSink",
    "Failed",
    "Finished",
    "Formula",
    "Frontier",
    "Goal",
    "Handle",
    "Hints",
    "Incumbent",
    "Journal",
    "Json",
    "Leaf",
    "Levels",
    "Mcts",
    "Measure",
    "Model",
    "Not",
    "Order",
    "OrderName",
    "OtherSourceError",
    "Outcome",
    "Part",
    "Probe",
    "ProcessExecutor",
    "Progress",
    "Refine",
    "Result",
    "ResultCache",
    "Sat",
    "SmtSession",
    "Some",
    "Sort",
    "SortError",
    "Spent",
    "Split",
    "Statistics",
    "StopSearchError",
    "Strategy",
    "Task",
    "TreeSize",
    "Unknown",
    "Unsat",
    "Word",
    "WordConst",
    "WordOp",
    "WordVar",
    "WorkerDiedError",
    "available_cpus",
    "best_first",
    "chen",
    "cluster_executor",
    "conjunction",
    "declared_order",
    "depth_first",
    "differing_words",
    "disjunction",
    "drafts",
    "emit",
    "enumerate_levels",
    "estimated",
    "is_importing_script",
    "knuth",
    "leaves_behind",
    "mcts",
    "negation",
    "order_named",
    "ordered",
    "problem_key",
    "process_executor",
    "read_events",
    "refine",
    "run_order",
    "run_tasks",
    "sample",
    "search",
    "smallest_domain",
    "source_digest",
    "starting_workers",
    "substitute",
    "together",
    "tree_size",
    "word",
]
