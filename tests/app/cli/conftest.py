"""A small model that the tests of the command line share."""

import pytest
import shell


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """A folder with data and a model that the command has fitted; not to be written to."""
    folder = tmp_path_factory.mktemp("shared")
    for name in ("congress.csv", "stormwater_cadmium.csv"):
        (folder / name).write_bytes((shell.DATA / name).read_bytes())
    done = shell.cqrf(
        "fit", "congress.csv", "--time", "time", "--event", "event", "--trees", 40, cwd=folder
    )
    assert done.returncode == 0, done.stderr
    (folder / "fit.txt").write_text(done.stdout)
    (folder / "fit.err").write_text(done.stderr)
    return folder
