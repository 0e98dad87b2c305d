"""Devices on the command line."""

import pytest
from typer.testing import CliRunner

from anagram.programs.cli import app


@pytest.mark.parametrize(
    ("devices", "message"),
    [
        ("some", "--devices takes 'all' or a number of devices, not 'some'"),
        ("-1", "--devices takes 'all' or a number of devices"),
        ("0", "devices must be 'all' or a number of devices, at least one, not 0"),
        ("4096", "4096 devices are wanted, and JAX sees"),
    ],
)
def test_devices_that_cannot_be_are_refused_before_anything_is_done(tmp_path, monkeypatch, devices, message):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["solve", "heat", "--devices", devices])
    assert result.exit_code == 2
    assert message in result.stderr
    assert not list(tmp_path.iterdir())
