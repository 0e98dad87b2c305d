"""How the time of a step grows with parameters and rows, and what `anagram plan` makes of it. See bench/large.py."""

import jax
import numpy as np

import anagram as ag
from anagram.methods import Auto, Spring
from anagram.training.cost import cost_of
from anagram.training.defaults import complete
from anagram.training.setting import Setting
from large_steps import compiled, cube_problem, state, step_seconds, timed, width_for

UPPER = 3  # of the largest sizes an exponent is fitted to


def exponent(sizes, seconds):
    """p of seconds = c·sizeᵖ over the largest sizes."""
    few = min(UPPER, len(sizes))
    return float(np.polyfit(np.log(sizes[-few:]), np.log(seconds[-few:]), 1)[0]) if few > 1 else None


def ranges(small):
    """By label: parameters and rows of each run, and the method; what is small runs on two cores."""
    if small:
        dense_p, dense_s = (400, 800, 1600, 2400), (2000, 4000, 8000, 16_000)
        return {
            "auto against P": [(p, 4000) for p in dense_p],
            "auto against S": [(500, s) for s in dense_s],
            "large against P": [(p, 2000) for p in (2500, 5000, 10_000, 20_000)],
            "spring against S": [(5000, s) for s in (250, 500, 1000, 2000)],
        }
    return {
        "auto against P": [(p, 40_000) for p in (1000, 2000, 4000, 8000)],
        "auto against S": [(2000, s) for s in (20_000, 40_000, 80_000, 160_000)],
        "large against P": [(p, 40_000) for p in (30_000, 100_000, 300_000)],
        "spring against S": [(40_000, s) for s in (1000, 2000, 4000)],
    }


def growth(report, only):
    """Steps of several sizes. Times of trials are counted out: a step has more of them or fewer."""
    for label, sizes in ranges(report.small).items():
        if only and not {label, label.split()[0]} & set(only):
            continue
        name, against = label.split()[0], label.split()[-1]
        seen, seconds, grams = [], [], []
        for parameters, rows in sizes:
            if report.left < 5:
                report(skipped=f"{label}: {parameters}, {rows}")
                continue
            compound, batch = state(width_for(parameters, layers=2), rows)
            theta, line = compound.model.theta, {}
            if name == "auto":
                method = Auto(squared_until=0.0, sketch=0)
                gram, _ = compiled(compound.gram, theta, batch)
                grams.append(timed(gram, theta, batch)[0])
                line["gram_seconds"] = grams[-1]
            elif name == "large":
                # One product is what steps are made of; how many of them a step has depends on the problem.
                vector = jax.random.normal(jax.random.key(0), (1, theta.size))
                product, _ = compiled(compound.normal_times, theta, batch, vector)
                grams.append(timed(product, theta, batch, vector)[0])
                line["product_seconds"] = grams[-1]
                method = None
            else:
                method = Spring()
            if method is not None:
                taken, trials, _, gigabytes, _ = step_seconds(method, compound, batch)
                line |= {"step_seconds": taken, "trials": trials, "step_gb": gigabytes}
                seconds.append(taken)
            seen.append(theta.size if against == "P" else compound.count_rows(batch))
            report(kind=label, P=int(theta.size), S=compound.count_rows(batch), **line)
        if len(seen) > 1:
            found = {"step": exponent(seen, seconds)} if seconds else {}
            found |= {"product" if name == "large" else "gram": exponent(seen, grams)} if grams else {}
            report(kind=label, exponents=found, sizes=[int(n) for n in seen])


def plan(report, _):
    """The model of cost is fitted to all rows and to few, and says what half of them take; here against the clock."""
    cases = [("heat", ag.catalogue.problem("heat"), None)]
    if not report.small:
        cases.append(("cube, P = 4000", cube_problem(), ag.MLP(width_for(4000), width_for(4000))))
    for name, problem, model in cases:
        if report.left < (0 if report.small else 25):
            report(skipped=name)
            continue
        points = None if model is None else 40_000
        setting = complete(Setting(model, points=points), problem)
        cost = cost_of(problem, setting)
        predicted, measured = cost.checked
        report(kind=name, method=setting.method, P=cost.parameters, S=cost.rows, seconds=cost.seconds(),
               alone=cost.alone, each_row=cost.each_row, half_predicted=predicted, half_measured=measured,
               memory_gb=cost.device_bytes / 2**30)  # fmt: skip
