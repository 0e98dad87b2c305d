"""The folder of a run as other processes have it: read, and never written to."""

import pytest

import anagram as ag
from anagram.keeping.following import Following, folder_of
from anagram.keeping.runfolder import RunFolder


def test_what_another_process_keeps_is_not_written_to(tmp_path, quick_solution):
    folder = folder_of(tmp_path, first=False)
    assert isinstance(folder, Following)
    assert not folder.writes
    folder.begin(None, None)
    folder.compiled(None)
    folder.continues(None)
    folder.takes_up({"configuration": {"seed": 3}})
    folder({}, None)
    assert not folder.write_checkpoint(None)
    assert folder.finish(None, quick_solution) == tmp_path
    with folder, folder.guarded("a rung"):
        pass
    assert folder.configuration == {"seed": 3}
    assert not list(tmp_path.iterdir())


def test_the_first_process_keeps_it(tmp_path):
    with folder_of(tmp_path, first=True, every=1.0) as folder:
        assert type(folder) is RunFolder
        assert folder.writes


def test_a_folder_that_others_do_not_see_is_said_to_them(tmp_path):
    with pytest.raises(ag.FileError, match="is not there for all processes"):
        folder_of(tmp_path / "elsewhere", first=False)
