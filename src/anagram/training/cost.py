"""What a step costs, on this machine and on more devices than there are: a model, fitted to steps that are measured.

A step takes a + b·S seconds for S rows on one device. The part b·S is done by all devices together, each on its share
of the points; the part a, factorisations above all, is done by each of them. Sums across D devices take

    2 B (D − 1)/D / bandwidth + 2 log₂ D · latency,

with B the bytes that each device hands on. What a and b are is measured here, on batches of different size; bandwidth
and latency are those of the network in question.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from anagram.compound import Compound
from anagram.compound.batch import Batch, count_rows, thinned
from anagram.compound.layout import Layout
from anagram.environment import step_compilation
from anagram.methods import Method
from anagram.statement.problem import Problem
from anagram.training.memory import run_bytes
from anagram.training.setting import Setting
from anagram.training.trainer import Trainer

DEVICES = (1, 8, 64, 512)
BANDWIDTH = 10e9  # bytes a second between devices: a good network, not the wires inside of a machine
LATENCY = 2e-5  # seconds
STEPS = 8  # that are timed; the first one is not
FEWEST = 1.1  # times the parameters: the model is fitted to so few rows, and to all
CHECKED = 0.5  # of the rows, on which it is checked
WORTH = 0.75  # of the time at most that twice the devices must take, or it scales no more
MOST_DEVICES = 2**20


@dataclass(frozen=True)
class Cost:
    """The model of a step.

    Attributes:
        parameters: P.
        rows: S.
        alone: a, seconds that each device takes for itself.
        each_row: b, seconds for each row.
        sent: B, bytes that each device hands on.
        device_bytes: what one device holds with all of the points.
        checked: seconds that were predicted and measured on a number of rows that was not fitted.
        bandwidth: bytes a second between devices.
        latency: seconds of one message.
    """

    parameters: int
    rows: int
    alone: float
    each_row: float
    sent: int
    device_bytes: int
    checked: tuple[float, float]
    bandwidth: float = BANDWIDTH
    latency: float = LATENCY

    def seconds(self, devices: int = 1, rows: float | None = None) -> float:
        """Of a step on so many devices."""
        share = (self.rows if rows is None else rows) / devices
        return self.alone + self.each_row * share + self.talking(devices)

    def talking(self, devices: int) -> float:
        """Seconds of a step in which devices hand on sums."""
        if devices == 1:
            return 0.0
        return 2 * self.sent * (devices - 1) / devices / self.bandwidth + 2 * math.log2(devices) * self.latency

    @property
    def ends_at(self) -> int:
        """The number of devices beyond which twice as many hardly help."""
        devices = 1
        while devices < MOST_DEVICES and self.seconds(2 * devices) <= WORTH * self.seconds(devices):
            devices *= 2
        return devices

    @property
    def limit(self) -> str:
        """What takes longest where it scales no more."""
        talking = self.talking(2 * self.ends_at)
        return "sums across devices" if talking > self.alone else "what each device does for itself"


def fitted(rows: list[int], seconds: list[float]) -> tuple[float, float]:
    """a and b of a + b·S, neither of them negative."""
    slope, start = np.polyfit(rows, seconds, 1) if len(set(rows)) > 1 else (0.0, min(seconds))
    if start < 0:  # all of it is in the points
        return 0.0, float(np.mean(np.divide(seconds, rows)))
    return (float(start), float(slope)) if slope > 0 else (float(np.mean(seconds)), 0.0)


def cost_of(
    problem: Problem, setting: Setting, seed: int = 0, bandwidth: float = BANDWIDTH, latency: float = LATENCY
) -> Cost:
    """Measure some steps of a setting on one device and fit the model to them."""
    trainer = Trainer(problem, setting, seed, compile_now=False)
    method, model = trainer.method, trainer.model
    compound = Compound(problem, model, layout=Layout())
    batch = trainer.step_batch()
    whole = count_rows(batch)
    few = min(whole, round(FEWEST * model.parameters))
    measured = [_measured(method, compound, thinned(batch, rows)) for rows in (whole, few)]
    alone, each = fitted([rows for rows, _, _ in measured], [seconds for _, seconds, _ in measured])
    rows, seconds, _ = _measured(method, compound, thinned(batch, round(CHECKED * whole)))
    return Cost(
        parameters=model.parameters,
        rows=whole,
        alone=alone,
        each_row=each,
        sent=method.sent(model.parameters, whole),
        device_bytes=measured[0][2],
        checked=(alone + each * rows, seconds),
        bandwidth=bandwidth,
        latency=latency,
    )


def _measured(method: Method, compound: Compound, batch: Batch) -> tuple[int, float, int]:
    """Rows, seconds of a step and bytes of its program."""
    theta, rows = compound.model.theta, count_rows(batch)
    state: Any = jax.jit(lambda t, b: method.init(compound, t, b))(theta, batch)
    step = compound.layout.jit(lambda s, b: method.step(compound, s, b), step_compilation())
    program = step.lower(state, batch).compile()
    state, _ = jax.block_until_ready(program(state, batch))
    seconds = []
    for _ in range(STEPS):
        started = time.perf_counter()
        state, _ = jax.block_until_ready(program(state, batch))
        seconds.append(time.perf_counter() - started)
    # Steps have more trials or fewer; what other programs take of the machine makes them longer, never shorter.
    return rows, float(np.median(seconds)), run_bytes([program], method, theta.size, rows)
