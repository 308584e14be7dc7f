"""Planted bugs that change no answer, by key, with the reason."""

EQUIVALENT: dict[str, str] = {
    "src/warploom/ptx/symbolic/machine.py:Machine._named:constant:64 -> 65:0": (
        "Addresses have 64 bits, and a word cut to its own width is the word itself."
    ),
    "src/warploom/ptx/simt/undefined.py:_use.use:connective:marks is None or marks.ndim == 0 -> ((marks is None)):0": (
        "A mark without lanes is always DEFINED, which is 0: nothing is found among its lanes either. The test saves time."
    ),
    "src/warploom/ptx/shuffle/rewrite.py:_kernel:constant:True -> False:0": (
        "`_judge` makes one judgement of each plan: the two lists have one length, strict or not."
    ),
}
