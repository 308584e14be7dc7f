"""Work of the search over families of sketches: nodes, kernels that were completed and proved, CPU seconds.

    python benchmarks/sketch_vector.py [CASE ...] >> benchmarks/results/sketch-vector-DATE.jsonl

Lines with `holes: nested` in the recorded file are from the search that completed each setting's holes inside an answer; their
`nodes` are those of the parameters and of all inner searches together.
"""

from __future__ import annotations

import json
import sys
import time

from warploom.kernels.tunables import tunable_sketch
from warploom.machines import architecture
from warploom.schedule.sketches import FamilyModel
from warploom.solve import declared_order, search

CASES = ("stencil1d-3", "stencil1d-5", "conv1d-3", "conv1d-5", "stencil2d-3", "conv2d-3")
ARCH = "sm_90"


def main() -> None:
    for case in sys.argv[1:] or CASES:
        family = tunable_sketch(case)
        started = time.process_time()
        model = FamilyModel(family, family.sizes, architecture(ARCH), measures=False)
        outcome = search(model, strategy=declared_order)
        statistics, tuned = outcome.statistics, outcome.answers[0][1]
        line = {
            "case": case,
            "arch": ARCH,
            "holes": "in the vector",
            "nodes": statistics.tried,
            "pruned": statistics.bounded,
            "completed": model.completed,
            "cpu_s": round(time.process_time() - started, 2),
            "time_ms": round(tuned.ms, 6),
            "setting": {name: list(v) if isinstance(v, tuple) else v for name, v in tuned.setting.items()},
            "complete": outcome.complete,
        }
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
