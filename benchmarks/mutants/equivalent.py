"""Planted bugs that change no answer, by key, with the reason."""

EQUIVALENT: dict[str, str] = {
    "src/warploom/scan/networks/program.py:is_scan:refusal:cells.fault -> False:0": (
        "a fault stays one to the end, where it is asked for again; the steps after it are run for nothing"
    ),
    "src/warploom/scan/networks/program.py:first_failure:refusal:last == largest -> False:0": (
        "all further levels run the largest size again, which was a scan"
    ),
    "src/warploom/scan/networks/fewest.py:fewest:refusal:columns > 2**depth -> False:0": (
        "a step doubles an interval at most, so the solver finds no such network, and finding none or giving up is None as well"
    ),
    "src/warploom/synth/summands.py:Summands._apart:refusal:self._leaf(t) is None -> False:0": (
        "a form with such a choice has no leaf for it, so it is not taken apart either; where the choice drops out of the form, "
        "`Values._compare` finds the two sides equal by the same forms"
    ),
    "src/warploom/ir/simplify.py:_one_value:refusal:isinstance(expr, IndexConst) -> False:0": (
        "the one value of a constant is that constant again, and a rule that gives back its expression counts as one that does "
        "not apply"
    ),
}
