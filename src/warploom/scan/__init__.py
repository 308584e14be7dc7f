"""Associative operators out of serial loops: the operator that turns a loop into a parallel scan or reduction, and its proof.

Takes a plain Python function with a loop. Gives a `Lifting`: an associative operator that computes the loop, with its proof.
`operators/lifting.py` runs all the steps; open it first. How it works, in the order of the modules:

- `source`, `subset`, `types`, `values`, `interpret`, `loop`, `transition`: a plain Python function of a file that has been run is
  read, run on symbols, and becomes a transition on named states. Names mean what they are bound to, `subset` says which Python
  is served, and what cannot be read is an error at its place. `forms` rewrites what people write (break, while, slices) to one
  form first; `patterns`, `matching`: regular expressions as loops of automata; `states`, `absent`, `records`, `texts`, `lookups`:
  None, dictionaries, objects, characters. `divisions`, `domains`:
  where Python's arithmetic and the proof's part.
- `expression`, `printing`: interned, simplified expressions; Python out again.
- `forms`, `normaliser`, `tables`, `alignment`: the normal form of a value as a function of the states at the start: thresholds
  on the states, and in every region a minimum of maxima of sums with coefficients that do not depend on the states.
- `closure`: the coefficients are the auxiliary values. One step's normal form with a slot for every coefficient that varies is
  composed with itself until the form no longer changes; the coefficients of the composition are then the operator. Nothing is
  guessed but the form's shape: what relations and bounds tie slots together is taken from samples and proved later.
- `steps`, `parts`: steps that are simpler where what always holds of the states is known; families that need no search.
- `family`, `relations`, `invariants`, `neutral`, `naming`: slots that follow from others are removed, bounds are proved by
  induction, an identity is found (or adjoined with a flag), slots get names.
- `laws`, `prover`, `cases`: base, composition, associativity and identity for all inputs, by canonical forms, z3 and case
  splits; together they are an induction over the length of the list. `words`, `machine`: what becomes of it in words and floats,
  lift, projection and start values included.
- `lifting`: all of it, and a test of the printed operator on the loop itself, at random lists and bracketings; `exact`: so that
  floats in the loop's text mean the decimal numbers written there.
- `binary`, `checking`: a user's operator, proved associative or refused with a replayed counterexample. `mending`: a lawful one.
- `template`: a user's template with `??` and `choose(...)`, completed by counterexamples.
- `tasks`: loops and operators from the literature with definitions to check against.

Goals: every answer is proved, or says that it is not. Non-goals: nested loops, loops that stop early, and values that no finite
number of auxiliary values determines (sets, sorted lists).
"""

from warploom.scan.operators.alignment import Style
from warploom.scan.operators.checking import Checked, MachineLaw, Witness, check
from warploom.scan.operators.checking import text as written
from warploom.scan.operators.claims import Apart, Commutes, apart, commutes
from warploom.scan.operators.expression import (
    BOOL,
    INT,
    REAL,
    TEXT,
    Expr,
    Sort,
    Value,
    polynomial,
    subexpressions,
    substituted,
    variables,
)
from warploom.scan.operators.laws import Law
from warploom.scan.operators.lifting import STYLES, Lifting, call, lift, operator_domain
from warploom.scan.operators.machine_numbers import Differing, InWords, in_floats, operator_in_words
from warploom.scan.operators.mending import Mended, mended
from warploom.scan.operators.operator import Operator
from warploom.scan.operators.printing import python
from warploom.scan.operators.template import Completed, complete_assertion, complete_template
from warploom.scan.operators.transition import Loop, State
from warploom.scan.reading.binary import Binary, read_binary
from warploom.scan.reading.loop import read_loop
from warploom.scan.reading.running import user_function
from warploom.scan.reading.source import Module, module_of, parse_module, read_module

__all__ = [
    "BOOL",
    "INT",
    "REAL",
    "STYLES",
    "TEXT",
    "Apart",
    "Binary",
    "Checked",
    "Commutes",
    "Completed",
    "Differing",
    "Expr",
    "InWords",
    "Law",
    "Lifting",
    "Loop",
    "MachineLaw",
    "Mended",
    "Module",
    "Operator",
    "Sort",
    "State",
    "Style",
    "Value",
    "Witness",
    "apart",
    "call",
    "check",
    "commutes",
    "complete_assertion",
    "complete_template",
    "in_floats",
    "lift",
    "mended",
    "module_of",
    "operator_domain",
    "operator_in_words",
    "parse_module",
    "polynomial",
    "python",
    "read_binary",
    "read_loop",
    "read_module",
    "subexpressions",
    "substituted",
    "user_function",
    "variables",
    "written",
]
