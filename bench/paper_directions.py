"""Directions of ANaGRAM on Allen–Cahn from the eigenvectors of JᵀJ and from an SVD of J, where a run was cut short.

python bench/paper_open.py --trials a-anagram-public --budget 300 --out results.jsonl
python bench/paper_directions.py results.state/a-anagram-public-0-1-2-3-4-5-6-7-8-9.npz
"""

from __future__ import annotations

import sys

import jax
import jax.numpy as jnp
import numpy as np

from anagram import spectrum
from anagram.compound import Compound
from anagram.compound.batch import sample
from anagram.methods.search import grid_without_zero
from anagram.models import ParametricModel
from anagram.programs.reproduce.evaluation import WITHOUT_HALF
from paper_trials import IN_PUBLIC, trials

CUTOFF = IN_PUBLIC["allen-cahn"]


def main() -> None:
    trial = next(t for t in trials() if t.name == "a-anagram-public")
    compound = Compound(trial.stated, ParametricModel(trial.stated.sought, trial.setting.model, 0))
    batch = sample(trial.stated, trial.setting.points)

    @jax.jit
    def step(theta):
        found = []
        for how in ("eigh", "svd"):
            modes = spectrum.factorise_for_cutoff(how, compound, theta, compound.unweighted(batch), CUTOFF, True)
            taken = modes.truncated(CUTOFF * modes.largest)
            now = compound.loss(theta, batch)
            along = taken.direction
            loss = grid_without_zero(lambda eta, d=along: compound.loss(theta + eta * d, batch), now)[1]
            found.append((along, taken.rank, WITHOUT_HALF * loss))
        return WITHOUT_HALF * now, found

    print("| loss | rank: JᵀJ | SVD | distance | cosine | loss after: JᵀJ | SVD |")
    print("|---" * 7 + "|")
    with np.load(sys.argv[1]) as kept:
        thetas = kept["leaf0"]
    for theta in thetas:
        now, ((one, rank, after), (other, full, exact)) = step(jnp.asarray(theta))
        apart = jnp.linalg.norm(one - other) / jnp.linalg.norm(other)
        cosine = one @ other / jnp.linalg.norm(one) / jnp.linalg.norm(other)
        print(f"| {now:.2e} | {rank} | {full} | {apart:.1e} | {cosine:.4f} | {after:.6e} | {exact:.6e} |")


if __name__ == "__main__":
    main()
