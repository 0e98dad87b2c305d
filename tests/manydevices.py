"""Programs on several devices: JAX counts them once when it starts, so that each number needs a process of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parent


def run_on(devices, program, *arguments, seconds=240):
    """What a program of the tests prints last, as JSON, where JAX sees so many devices."""
    done = subprocess.run(
        [sys.executable, str(TESTS / program), *map(str, arguments)],
        env=environment(devices),
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.strip().splitlines()[-1])


def environment(devices):
    """The environment of such a process."""
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={devices}"
    path = os.pathsep.join([str(TESTS), *sys.path])
    return {**os.environ, "XLA_FLAGS": flags.strip(), "PYTHONPATH": path, "JAX_PLATFORMS": "cpu"}
