"""Planted bugs that change no answer, by key, with the reason."""

_SUPPLY = "src/warploom/synth/search/folds.py:FoldConstraint._may_supply:refusal:"
_RACES = "src/warploom/ptx/simt/races.py:_conflicts:refusal:"

EQUIVALENT: dict[str, str] = {
    "src/warploom/ptx/shuffle/detect.py:_Detector._own_store:refusal:not isinstance(address, Address) or "
    "not isinstance..5bfd72c4 -> False:0": (
        "A plain store has no coordinates, and an address without a register is none that is kept until the second load."
    ),
    "src/warploom/ctext/numbers.py:rounded:negation:math.inf -> (-math.inf):0": (
        "Only its size is used: `copysign` gives it the sign of the value."
    ),
    "src/warploom/machines/banks.py:_are_alike:arithmetic:np.arange(addresses.shape[1], dtype=np.int64) ^ step -> "
    "(np.arange(addresses.shape[1], dtype=np.int64)) | (step):0": (
        "Each pair of lanes is compared from the lane without the bit; the other one is compared with itself, which always holds."
    ),
    "src/warploom/ptx/symbolic/basic_block.py:BasicBlockRun._named:constant:64 -> 65:0": (
        "Addresses have 64 bits, and a word cut to its own width is the word itself."
    ),
    "src/warploom/ptx/simt/undefined.py:_use.use:connective:marks is None or marks.ndim == 0 -> ((marks is None)):0": (
        "A mark without lanes is always DEFINED, which is 0: nothing is found among its lanes either. The test saves time."
    ),
    "src/warploom/ptx/shuffle/rewrite.py:_kernel:constant:True -> False:0": (
        "`_judge` makes one judgement of each plan: the two lists have one length, strict or not."
    ),
    "src/warploom/scan/networks/program.py:is_scan:refusal:cells.fault -> False:0": (
        "a fault stays one to the end, where it is asked for again; the steps after it are run for nothing"
    ),
    "src/warploom/scan/networks/program.py:first_failure:refusal:last == largest -> False:0": (
        "all further levels run the largest size again, which was a scan"
    ),
    "src/warploom/scan/networks/fewest.py:fewest:refusal:columns > 2**depth -> False:0": (
        "a step doubles an interval at most, so the solver finds no such network, and finding none or giving up is None as well"
    ),
    "src/warploom/synth/proof/summands.py:Summands._apart:refusal:self._leaf(t) is None -> False:0": (
        "a form with such a choice has no leaf for it, so it is not taken apart either; where the choice drops out of the form, "
        "`Values._compare` finds the two sides equal by the same forms"
    ),
    "src/warploom/ir/kernel/simplify.py:_one_value:refusal:isinstance(expr, IndexConst) -> False:0": (
        "the one value of a constant is that constant again, and a rule that gives back its expression counts as one that does "
        "not apply"
    ),
    f"{_RACES}region is machine.shared and not bool(((marks & _T..589736b8 -> False:0": (
        "marks in shared memory are of the block's own threads; those older than the last barrier of every block are found to "
        "to be ordered further down"
    ),
    f"{_RACES}not candidates.any() -> False:0": ("without candidates no position is left, and none is found below"),
    f"{_SUPPLY}not any_bits(candidate.domains[cells] & factors[en..5e7f007b -> False:0": (
        "`factors` joins the values of all terms of a fold: where no cell may hold one of them, `_supplies` finds no term either"
    ),
    "src/warploom/synth/search/propagation.py:FunctionFilter._narrow_unlisted:refusal:(supported == allowed).all() -> False:0": (
        "the same values are stored again, and constraints that saw no change are run once more and find none"
    ),
    "src/warploom/synth/proof/prove.py:_undefined:refusal:not any(usage.has_limits for usage in usages.values()) -> False:0": (
        "`Usage.add` met every constant of both sides; where none is an infinity or NaN, `beyond_numbers` finds none either"
    ),
    "src/warploom/synth/transposes/recover.py:recover:refusal:not permutes(goal.T.astype(np.int64)) -> False:0": (
        "compositions of primitives permute; the rest of a goal that does not permute is never one, so none is found at any depth"
    ),
    "src/warploom/synth/transposes/template.py:_with_constants:refusal:not seconds -> False:0": (
        "without a second step the loop over them does nothing for every constant, and None follows"
    ),
    "src/warploom/ir/swizzle/grown/listing.py:_compositions:refusal:len(letters) > most + 1 -> False:0": (
        "the words of one letter are counted first, so that the sum after the second letter is more than `most`, too"
    ),
    "src/warploom/synth/proof/concrete.py:TypedInteger.__ror__:constant:True -> False:0": (
        "`|` of two words gives the same in either order, so does their common type, and floats refuse it on both sides"
    ),
    "src/warploom/ir/kernel/counts.py:count_wavefronts:constant:1 -> 2:3": (
        "NumPy takes every negative extent of a shape for the unknown one"
    ),
    "src/warploom/synth/dataflow/ahead.py:Ahead.decided:constant:1 -> 2:0": (
        "NumPy takes every negative extent of a shape for the unknown one"
    ),
    "src/warploom/ptx/symbolic/neighbour.py:Neighbour._is_walked:connective:not rest or holds(own, jump)"
    " -> ((holds(own, jump))):0": (
        "a sum with 0 never wraps: `holds` finds both ends of one range, and a range is narrower than the words are many"
    ),
    "src/warploom/scan/networks/induction.py:_Prover._fitting:range:columns -> (columns) - 1:3": (
        "the trial saves proofs: a state that is wrong in the last lane of the trial is not one of every size, so no step of it "
        "is proved, and the next state of the menu is asked as without it"
    ),
    "src/warploom/scan/operators/laws.py:decided:connective:sides and has_products(*(e for pair in sides for e in pair))"
    " -> ((has_products(*(e for pair in sides for e in pair)))):0": "without sides there are no products among them",
    "src/warploom/schedule/cpu/worker.py:MeasureWorker.__enter__:constant:1 -> 2:0": (
        "a shared memory without bytes is none, so it gets one; a second one is of no use, and systems give whole pages"
    ),
    "src/warploom/solve/space/compiled.py:_clause_form:refusal:any(~guard in guards for guard in guards) -> False:0": (
        "a fact and its contrary never hold together: the form has a guard that is off for all objects"
    ),
    "src/warploom/solve/space/relations.py:_clause:refusal:relation.all() or any(~guard in guards for guard in guards)"
    " -> False:0": ("a relation that allows everything narrows nothing, and one under a fact and its contrary never holds"),
}
