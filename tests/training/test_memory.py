"""What a run takes of the memory is known before it begins."""

import jax
import jax.numpy as jnp
import pytest

import anagram as ag
from anagram.methods import make_method
from anagram.training import memory
from anagram.training.trainer import Trainer
from problems import parabola

SETTING = ag.Setting(ag.MLP(6), "auto", {}, 60, 5)


@pytest.fixture(scope="module")
def trainer():
    return Trainer(parabola(), SETTING, 0)


def test_a_program_says_what_it_holds():
    size = 300
    compiled = jax.jit(lambda a: a @ a).lower(jnp.zeros((size, size))).compile()
    assert memory.program_bytes(compiled) >= 2 * 8 * size**2
    assert memory.program_bytes(compiled) < 4 * 8 * size**2
    assert memory.program_bytes(object()) == 0, "a program that does not say"


def test_a_run_takes_its_largest_program_and_what_lapack_takes(trainer):
    block, parameters = trainer._block.func, trainer.model.parameters
    rows = sum(part.source.size for part in trainer.batch.values())
    assert trainer.device_bytes >= memory.program_bytes(block) + 2 * 8 * parameters**2
    assert memory.program_bytes(block) > 8 * rows * parameters, "J is there as a whole"
    summary = trainer.train(ag.training.budget.Budget(1), quiet=True).summary
    assert (summary["device_bytes"], summary["devices"]) == (trainer.device_bytes, 1)


def test_more_points_take_more():
    more = Trainer(parabola(), ag.Setting(ag.MLP(6), "gd", {}, 40_000, 5), 0)
    fewer = Trainer(parabola(), ag.Setting(ag.MLP(6), "gd", {}, 20_000, 5), 0)
    assert 1.5 < more.device_bytes / fewer.device_bytes < 2.5


def test_what_does_not_fit_is_not_begun(trainer, monkeypatch):
    monkeypatch.setattr(memory, "device_memory", lambda: trainer.device_bytes)
    Trainer(parabola(), SETTING, 0)
    monkeypatch.setattr(memory, "device_memory", lambda: trainer.device_bytes - 1)
    with pytest.raises(ag.SettingError, match="GB on each device, and there are .*: take fewer points, more devices"):
        Trainer(parabola(), SETTING, 0)


def test_what_helps_depends_on_what_is_too_large(monkeypatch):
    method, parameters = make_method("auto"), 1000
    monkeypatch.setattr(memory, "device_memory", lambda: method.memory(parameters, 0) + 1)
    with pytest.raises(ag.SettingError, match="take a smaller model, or method='large'"):
        memory.refuse_what_does_not_fit(10 * method.memory(parameters, 0), method, parameters)
    monkeypatch.setattr(memory, "device_memory", lambda: None)  # a machine that does not say
    memory.refuse_what_does_not_fit(10**30, method, parameters)
