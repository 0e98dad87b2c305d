"""Resident memory while JᵀJ and Jᵀr are formed for P = 921 parameters and S = 200 000 rows.

J itself would take 1.5 GB, and differentiating all points at once a multiple of it; chunks keep the whole process
below 2 GB.

    python bench/memory.py [--rows 200000]
"""

import argparse
import resource
import time

import jax

import anagram as ag


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=200_000)
    rows = parser.parse_args().rows
    problem = ag.catalogue.problem("allen-cahn")
    model = ag.ParametricModel(problem.sought, ag.MLP(20, 20, 20), 0)
    batch = ag.sample(problem, {"equation": ag.Uniform(rows - 4000), "initial": ag.Grid(2000), "walls": ag.Grid(1000)})
    compound = ag.Compound(problem, model)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    gram = jax.jit(compound.gram)
    jax.block_until_ready(gram(model.theta, batch))
    started = time.perf_counter()
    jax.block_until_ready(gram(model.theta, batch))
    seconds = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    whole = 8 * rows * model.parameters / 2**30
    print(f"P = {model.parameters}, S = {rows}: J would take {whole:.2f} GB; the process grew from {before:.2f} to")
    print(f"{peak:.2f} GB resident at its peak; {seconds:.2f} s for JᵀJ and Jᵀr")


if __name__ == "__main__":
    main()
