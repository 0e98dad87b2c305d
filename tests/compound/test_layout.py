"""Points spread over devices: the same numbers to rounding on any number of them, and few bytes between them."""

import jax.numpy as jnp
import numpy as np
import pytest

import anagram as ag
from anagram.compound.laid import fold, group_sizes, unfold
from anagram.compound.layout import Layout
from anagram.training.traffic import bytes_sent
from manydevices import run_on
from tolerances import ACCUMULATED, assert_close

SENT = 1.1  # times one matrix and one vector
VECTORS = 4 + 8  # modes of the preconditioner, and what else a step without matrices sends


def test_numbers_are_the_same_on_any_number_of_devices_and_few_bytes_are_sent():
    found = run_on(8, "compound/spread.py")
    for name, gap in found["quantities"].items():
        assert gap <= ACCUMULATED, f"{name}: {gap:.1e}"
    for method, runs in found["runs"].items():
        sent, planned, parameters = runs.pop("sent"), runs.pop("planned"), _check_runs(method, **runs)
        # Half of a symmetric matrix twice a step, or a triangle, and a vector; without matrices some vectors alone.
        most = SENT * (parameters**2 + parameters) if method != "large" else VECTORS * parameters
        assert 0 < sent <= 8 * most, f"{method} sends {sent} bytes"
        assert sent <= planned, f"a plan of {method} says {planned} bytes, and it sends {sent}"
    _check_refused(found["refused"])
    assert found["inside"] == 3, "devices that are in use stay in use"


def _check_runs(method, **runs):
    """Steps and errors are the same; returns how many parameters there are."""
    alone = runs.pop("1")
    for count, run in runs.items():
        assert_close(run["losses"], alone["losses"], ACCUMULATED, f"losses of {method} on {count}")
        assert_close(run["error"], alone["error"], ACCUMULATED, f"error of {method} on {count}")
    return alone["parameters"]


def _check_refused(refused):
    assert "at least one, not 0" in refused["0"]
    assert "9 devices are wanted, and JAX sees 8 (cpu)" in refused["9"]
    assert "--xla_force_host_platform_device_count=9" in refused["9"]
    assert "'all' or a number of devices" in refused["some"]
    assert "'all' or a number of devices" in refused["True"]


def test_one_device_spreads_nothing():
    with ag.on_devices(1) as layout:
        assert layout == Layout()
        assert not layout.spreads
        batch = {"a": np.ones(3)}
        assert layout.put(batch) is batch
        problem = ag.catalogue.problem("beam")
        compound = ag.Compound(problem, ag.ParametricModel(problem.sought, ag.MLP(2), 0))
        assert compound.laid is compound


@pytest.mark.parametrize("size", [1, 2, 5, 8])
def test_half_a_matrix_is_folded_without_gaps(size):
    matrix = jnp.asarray(np.random.default_rng(size).normal(size=(size, size)))
    folded = fold(matrix)
    assert_close(unfold(folded, size), jnp.triu(matrix))
    even = size + size % 2
    assert sum(part.size for part in folded) == even * (even + 1) // 2


@pytest.mark.parametrize(("devices", "sizes"), [(1, []), (2, [2]), (8, [8]), (12, [6, 2]), (7, [7]), (22, [11, 2])])
def test_triangles_are_gathered_in_small_groups(devices, sizes):
    assert group_sizes(devices) == sizes


def test_bytes_are_read_off_a_program():
    text = """
      %a = f64[3,4]{1,0} all-reduce(%x), channel_id=1, replica_groups={{0,1,2,3}}, to_apply=%sum
      %b = (f64[], f32[10]{0}) all-reduce(%y, %z), replica_groups=mesh['axis_0'=4] {'axis_0'}
      %c = f64[4,5]{1,0} all-gather(%x), replica_groups=mesh['axis_0'=4,'axis_1'=1] {'axis_0'}, dimensions={0}
      %d = f64[8]{0} all-gather(%x), replica_groups=[2,4]<=[8], dimensions={0}
      %e = pred[2]{0} collective-permute(%x), source_target_pairs={{0,1}}
      %f = f64[100]{0} add(%x, %y)
    """
    assert bytes_sent(text) == 8 * 12 + 8 + 4 * 10 + 8 * 5 + 8 * 2 + 2
