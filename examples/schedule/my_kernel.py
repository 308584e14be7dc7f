"""A kernel of one's own: cosine similarity of every query with every document, ten lines of mathematics."""

# ruff: noqa: F821, N803 (indices and sizes are names of the language)

import numpy as np

import warploom as wl
from warploom import f32
from warploom.schedule.backbone import backbone_text, evaluate_program


@wl.tensor
def cosines(
    Q: f32["queries", "width"],
    D: f32["documents", "width"],
    length: wl.temp[f32["documents"]],
    S: wl.out[f32["queries", "documents"]],
):
    length[d] = wl.sqrt(sum(D[d, k] * D[d, k], over=k))
    norm[q] = wl.sqrt(sum(Q[q, k] * Q[q, k], over=k))
    S[q, d] = sum(Q[q, k] * D[d, k], over=k) / (norm[q] * length[d])


if __name__ == "__main__":
    for stage in cosines.program({"queries": 64, "documents": 1000, "width": 96}).stages:
        print(backbone_text(stage))

    rng = np.random.default_rng(0)
    Q, D = rng.normal(size=(5, 7)).astype(np.float32), rng.normal(size=(9, 7)).astype(np.float32)
    program = cosines.program({"queries": 5, "documents": 9, "width": 7})
    S = evaluate_program(program, {"Q": Q, "D": D})["S"]
    expected = Q @ D.T / np.outer(np.linalg.norm(Q, axis=1), np.linalg.norm(D, axis=1))
    print("as NumPy's:", np.allclose(S, expected, atol=1e-6))
