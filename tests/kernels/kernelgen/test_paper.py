"""The transcribed statements agree with each other and with the kernels."""

from warploom.kernels.kernelgen import KERNELGEN
from warploom.kernels.kernelgen.paper import GPUS, OUTCOMES, SUMMARIES, SYNTHESIS, UNCHANGED, signs


def test_table_2_has_our_kernels() -> None:
    assert set(SYNTHESIS) == set(KERNELGEN)
    assert set(UNCHANGED) == {name for name, line in SYNTHESIS.items() if line.shuffles == 0}


def test_loads_differ_from_the_papers_only_where_compilers_do() -> None:
    differing = {name for name, line in SYNTHESIS.items() if line.loads != KERNELGEN[name].loads}
    assert differing == {"matmul", "matvec", "sincos", "whispering"}


def test_statements_do_not_contradict() -> None:
    for outcome in OUTCOMES:
        others = {
            o.sign
            for o in OUTCOMES
            if (o.generation, o.kernel, o.variant) == (outcome.generation, outcome.kernel, outcome.variant)
        }
        assert others == {outcome.sign}
        assert outcome.percent is None or (outcome.percent > 0) == (outcome.sign > 0)
        if outcome.variant == "PTXASW" and outcome.percent is not None:
            assert outcome.percent <= SUMMARIES[outcome.generation].best_percent


def test_named_gains_are_within_the_counts() -> None:
    known = signs()
    for generation in GPUS:
        gains = [kernel for (gpu, kernel), sign in known.items() if gpu == generation and sign > 0 and kernel in KERNELGEN]
        losses = [kernel for (gpu, kernel), sign in known.items() if gpu == generation and sign < 0]
        assert len(gains) <= SUMMARIES[generation].improved <= len(KERNELGEN) - len(losses)
    assert {kernel for (gpu, kernel), sign in known.items() if gpu == "Volta" and sign < 0} == {
        "gaussblur", "lapgsrb", "tricubic", "tricubic2",
    }  # fmt: skip
