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
}
