"""Solutions nobody has trained, for tests that do not depend on how good they are."""

import numpy as np

import anagram as ag
from anagram.training.history import History

SUMMARY = {
    "problem": "made", "method": "auto", "seed": 0, "steps": 0, "loss": 1e-9, "validation_loss": 2e-9, "l2_error": None,
    "relative_l2_error": None, "stopped_because": "steps used up",
}  # fmt: skip


def untrained(domain, *operators, **stated):
    """A solution of as many conditions as there are operators, on the whole domain."""
    named = {f"c{k}": ag.Condition(operator) for k, operator in enumerate(operators)}
    problem = ag.Problem(domain, named, **stated)
    made = ag.ParametricModel(problem.sought, ag.MLP(4), 3)
    return ag.Solution(problem, made, np.asarray(made.theta), History(), dict(SUMMARY))
