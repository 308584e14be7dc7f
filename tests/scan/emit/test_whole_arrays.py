"""Kernels of `scan emit` for whole arrays, proved for every order of blocks; planted bugs are never proved."""

import re
from functools import cache

import pytest

from warploom import scan
from warploom.gpu import compile_to_ptx, toolchain_available
from warploom.ptx import lower, parse
from warploom.scan.emit import ARCH, SEPARATE, Choices, CudaScan, Types, cuda_scan
from warploom.scan.tasks import loops_module
from warploom.scan.variants import FORWARD, ScanForm
from warploom.synth.compiled import Word
from warploom.tools.scan.elements import NotSeenError, WrongError
from warploom.tools.scan.movement_proof import attempt
from warploom.tools.scan.whole_arrays import WholeArray, mixtures, prove_launches

pytestmark = pytest.mark.skipif(not toolchain_available(), reason="needs the CUDA tools (extra cuda)")


def opaque(name: str, form: ScanForm = FORWARD, types: Types | None = None, items: int = 1) -> CudaScan:
    operator = scan.lift(scan.read_loop(loops_module(), name)).operator
    assert operator is not None
    return cuda_scan(operator, types, Choices(threads=32, items=items), "opaque", form, has_whole_arrays=True)


@cache
def forward() -> CudaScan:
    return opaque("total")


def compiled(source: str, kernel: str) -> str:
    """The PTX of that kernel without the others."""
    kernels = re.findall(r'^extern "C" __global__.*?^}$', source, re.M | re.S)
    assert len(kernels) == 9
    for text in kernels:
        source = source if f" {kernel}(" in text or f"\n{kernel}(" in text else source.replace(text, "")
    return compile_to_ptx(source, ARCH, options=SEPARATE)


def ending(text: str, kernel: str, tiles: int = 3, blocks: int = 3) -> tuple[str, str]:
    """Verdict and reason of one launch."""
    program = lower(parse(text, "scan.ptx"))
    run = WholeArray(forward(), program, kernel, 32 * tiles - 9, blocks)  # type: ignore[arg-type]
    found = attempt(kernel, (), run.prove)
    return ("proved", "") if found is None else (found.verdict, found.reason)


def test_whole_arrays_are_proved_with_an_unknown_operator() -> None:
    found = prove_launches(forward(), (1, 4))
    assert found.verdict == "proved", found.reason
    assert found.kernels == ("scan_device", "scan_device_exclusive", "reduce_device")
    assert found.sizes == {"whole_arrays": [[32, 1, 17], [32, 1, 113]]}
    assert "blocks in any order" in found.domain and "control words zero before the launch" in found.domain


@pytest.mark.parametrize(
    ("name", "form", "types", "kernels"),
    [
        ("atoi", ScanForm(True), Types("int64"), ("scan_device", "scan_device_exclusive")),
        ("average", ScanForm(False, True), Types("int64", "float64"), ("scan_device", "scan_device_exclusive")),
    ],
)
def test_forms_are_proved(name: str, form: ScanForm, types: Types | None, kernels: tuple[str, ...]) -> None:
    found = prove_launches(opaque(name, form, types, items=2), (3,))
    assert (found.verdict, found.kernels) == ("proved", kernels), found.reason


BUGS = {
    "a flag without a release": ("st.release.gpu", "st.volatile", "expected a plain access"),
    "a flag that the block alone sees": ("st.release.gpu", "st.release.cta", "that other blocks see"),
    "a flag before its value": ("publish(control + 1 + tile, 1);", "", "handed over before"),
    "a prefix before its flag": ("state == 2 ? prefixes", "state >= 1 ? prefixes", "handed over before"),
    "a total in place of a prefix": ("prefixes[tile] = combine(earlier, total);", "prefixes[tile] = total;", "combines"),
    "the tile itself in its prefix": ("(long long)tile - 1", "(long long)tile", "an earlier ticket"),
    "a look-back that skips a tile": ("(long long)tile - 1", "(long long)tile - 2", "combines"),
    "tiles in the wrong order": ("v = combine(earlier, v);", "v = combine(v, earlier);", "are combined after"),
    "tiles before a complete prefix": ("if (nearest >= 0 && lane > nearest)", "if (nearest >= 0 && lane > nearest + 1)", ""),
    "the furthest prefix in place of the nearest": ("__ffs(", "32 - __clz(", "are combined after"),
    "a block's number as its tile": ("unsigned tile = ticket;", "unsigned tile = blockIdx.x;", "asks for its number"),
    "a ticket of two": ("atomicAdd(control, 1u);\n    __syncthreads", "atomicAdd(control, 2u);\n    __syncthreads", "add 1"),
    "a ticket that the block alone sees": ("= atomicAdd(control, 1u);", "= atomicAdd_block(control, 1u);", "for a ticket"),
    "the counter as a flag": ("publish(control + 1, 2)", "publish(control, 2)", "behind its counter"),
    "no wait": ("} while (word == 0);", "} while (false);", "handed over before"),
    "a carried value before the barrier": ("carried = earlier;\n    }\n    __syncthreads();", "carried = earlier;\n    }", ""),
}  # fmt: skip
_LATE = "tile_totals[tile] = total;\n                publish(control + 1 + tile, 1);"
_EARLY = "publish(control + 1 + tile, 1);\n                tile_totals[tile] = total;"


@pytest.mark.parametrize("bug", BUGS)
def test_bugs_are_never_proved(bug: str) -> None:
    right, wrong, said = BUGS[bug]
    if bug == "a flag before its value":
        right, wrong = _LATE, _EARLY
    source = forward().source
    assert right in source
    verdict, reason = ending(compiled(source.replace(right, wrong), "scan_device"), "scan_device")
    assert verdict != "proved" and said in reason, reason


def test_a_reduction_needs_both_fences() -> None:
    text = compiled(forward().source, "reduce_device")
    assert ending(text, "reduce_device") == ("proved", "")
    for place in (text.index("membar.gl;"), text.rindex("membar.gl;")):
        changed = text[:place] + text[place + len("membar.gl;") :]
        assert "handed over before" in ending(changed, "reduce_device")[1]


def test_parts_of_a_reduction_in_the_wrong_order() -> None:
    changed = forward().source.replace("v = combine(v, parts[i]);", "v = combine(v, parts[gridDim.x - 1 - i]);")
    assert ending(compiled(changed, "reduce_device"), "reduce_device")[0] == "refuted"


def test_every_mixture_of_flags_is_one_of_those_tried() -> None:
    one, two = Word(1, frozenset()), Word(2, frozenset())
    found = list(mixtures([{12: (one, two)}, {8: (one, two)}, {4: (two,)}]))
    assert [{at: [w.word for w in words] for at, words in f.items()} for f in found] == [
        {12: [2], 8: [1, 2], 4: [2]},
        {12: [1], 8: [2], 4: [2]},
        {12: [1], 8: [1], 4: [2]},
    ]
    assert len(list(mixtures([{8: (one, two)}, {4: (one, two)}]))) == 3 and list(mixtures([])) == [{}]
    with pytest.raises(NotSeenError, match="several flags"):
        list(mixtures([{4: (one, two), 8: (two,)}]))
    with pytest.raises(NotSeenError, match="several flags"):
        list(mixtures([{4: (one, two, Word(3, frozenset()))}]))


def test_faults_and_wrong_results_refute() -> None:
    def wrong() -> None:
        raise WrongError("result 3 combines nothing")

    found = attempt("a launch", (), wrong)
    assert found is not None and (found.verdict, found.reason) == ("refuted", "a launch: result 3 combines nothing")
