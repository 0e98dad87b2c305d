"""Shared set-up: a cache of our own, a short run to look at."""

import gc
import os
import tempfile

os.environ.setdefault("ANAGRAM_CACHE", os.path.join(tempfile.gettempdir(), f"anagram-tests-{os.getuid()}"))

# Most of the time of the tests is compilation: of small programs that run briefly, and many of them the same ones. They
# are compiled without the optimisations of machine code, which takes a third of the time, and kept. With
# ANAGRAM_TESTS_AS_USERS=1 they are compiled as for users.
os.environ["XLA_FLAGS"] = " ".join(
    [
        os.environ.get("XLA_FLAGS", ""),
        "--xla_backend_optimization_level=0",
        "--xla_llvm_disable_expensive_passes=true",
        "--xla_cpu_use_fusion_emitters=false",
    ][: 1 if os.environ.get("ANAGRAM_TESTS_AS_USERS") else None]
).strip()
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", os.path.join(os.environ["ANAGRAM_CACHE"], "compiled-tests"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")

import pytest

import anagram as ag

# What JAX keeps of traces is not garbage, and looking through all of it again and again takes a tenth of the time.
gc.freeze()
gc.set_threshold(200_000, 20, 100)


def pytest_collection_modifyitems(items):
    if not os.environ.get("ANAGRAM_LONG"):
        late = pytest.mark.skip(reason="run by make test-long")
        for item in items:
            if item.get_closest_marker("long"):
                item.add_marker(late)


@pytest.fixture(scope="session")
def square():
    return ag.Box(x=(0, 1), y=(0, 1))


@pytest.fixture(scope="session")
def heat():
    return ag.catalogue.problem("heat")


@pytest.fixture(scope="session")
def quick_solution(heat):
    """A short but real run, for tests of what can be done with a solution."""
    return ag.solve(heat, ag.MLP(8), points=ag.Grid(10), steps=12, progress=False)
