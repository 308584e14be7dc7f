"""The model of shuffle profit against what the paper measured: the direction per kernel and GPU, and what the model says today.

    python benchmarks/ptx_profit.py [--json]

The paper's text names a direction for some kernels (`warploom.kernels.kernelgen.paper`); those without any shuffle are left out.
The kernels' PTX is NVRTC's for sm_75, with shuffles of every distance (the application stencils: |N| <= 1, as in the paper).
"""

from __future__ import annotations

import argparse
import json
from importlib.metadata import version

from warploom.kernels.kernelgen import APPLICATIONS, KERNELGEN
from warploom.kernels.kernelgen.paper import GPUS, signs
from warploom.machines import ARCHITECTURES, nearest_architecture
from warploom.ptx.shuffle import forecast
from warploom.tools.bench.ptx import PAPERS_APPLICATIONS
from warploom.tools.bench.ptx_stalls import facts_of

OURS = {paper: name for name, paper in PAPERS_APPLICATIONS.items()}


def agreement() -> dict[str, int]:
    """How many directions of the paper the model gives, and how many `always` and `never` would."""
    known = {key: sign for key, sign in signs().items() if sign}
    right = 0
    for (generation, name), sign in known.items():
        stencil = KERNELGEN.get(name) or APPLICATIONS[OURS[name]]
        facts = facts_of(stencil, 31 if name in KERNELGEN else 1)
        assert facts is not None
        gain = forecast(facts, facts.candidates, nearest_architecture(GPUS[generation].arch)).gain
        right += (gain > 0) == (sign > 0)
    always = sum(sign > 0 for sign in known.values())
    return {"of": len(known), "right": right, "always": always, "never": len(known) - always}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    as_json = parser.parse_args().json
    known = {(str(generation), name): sign for (generation, name), sign in signs().items()}
    papers = {gpu.arch for gpu in GPUS.values()}
    for stencil in (*KERNELGEN.values(), *APPLICATIONS.values()):
        facts = facts_of(stencil, 1 if stencil.name in APPLICATIONS else 31)
        if facts is None:
            continue
        line: dict[str, object] = {"case": stencil.name, "shuffles": len(facts.candidates)}
        for arch, machine in ARCHITECTURES.items():
            found = forecast(facts, facts.candidates, machine)
            paper = (
                known.get((machine.generation, PAPERS_APPLICATIONS.get(stencil.name, stencil.name))) if arch in papers else None
            )
            line[arch] = {
                "gain": round(found.gain, 3), "before": found.before.bottleneck, "after": found.after.bottleneck,
                **({"paper": paper} if paper is not None else {}),
            }  # fmt: skip
        print(json.dumps(line) if as_json else _row(stencil.name, line))
    print(json.dumps({"case": "agreement", **agreement(), "warploom": version("warploom")}))


def _row(name: str, line: dict[str, object]) -> str:
    cells: list[str] = []
    for arch, value in line.items():
        if isinstance(value, dict):
            cells.append(f"{arch} {value['gain']:+.2f}" + (f" (paper {value['paper']:+d})" if "paper" in value else ""))
    return f"{name:<14}" + "  ".join(cells)


if __name__ == "__main__":
    main()
