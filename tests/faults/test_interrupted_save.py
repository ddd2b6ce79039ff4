"""Whatever stops a save, the old file stays as it was, and the next save leaves no debris."""

import contextlib
import errno
import os
import shutil
import signal
import stat
import subprocess
import threading
import time

import numpy as np
import pytest

import cqrf.storage.container
from cqrf import CensoredQuantileForest

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="forks"),
    # The child does nothing but save and die.
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
]

# All that a save asks of the system, in any order.
CALLS = ("open", "write", "fsync", "fchmod", "link", "replace", "unlink", "close")


def forest_data():
    X = np.random.default_rng(0).uniform(size=(60, 2))
    return X, X[:, 0] + X[:, 1] ** 2


@pytest.fixture
def old(tmp_path):
    """A model file alone in a folder, its content, and a forest to be saved over it."""
    forests = [CensoredQuantileForest(k, random_state=0).fit(*forest_data()) for k in (3, 5)]
    path = tmp_path / "alone" / "model.cqrf"
    path.parent.mkdir()
    forests[0].save(path)
    return path, path.read_bytes(), forests[1]


def content_of(forest, path):
    forest.save(path)
    return path.read_bytes()


@pytest.fixture(params=["nameless", "named"])
def system(request, monkeypatch):
    """With and without files that have no name."""
    if request.param == "named":
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    return request.param


def watch(patch, at_call):
    """Call at_call(k, whether it comes before or after) around the k-th call to the system."""
    count = 0

    def watched(call):
        def replacement(*args, **options):
            nonlocal count
            number, count = count, count + 1
            at_call(number, "before")
            try:
                return call(*args, **options)
            finally:
                at_call(number, "after")

        return replacement

    for name in CALLS:
        patch.setattr(os, name, watched(getattr(os, name)))


def number_of_calls(forest, path):
    numbers = []
    with pytest.MonkeyPatch.context() as patch:
        watch(patch, lambda number, _: numbers.append(number))
        forest.save(path)
    return max(numbers) + 1


def killed(save, end, point):
    """The status of a process that gets a signal at one point of its save."""
    child = os.fork()
    if child == 0:
        # Never returns: the parent's tests must not go on in the child.
        try:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            watch(
                pytest.MonkeyPatch(),
                lambda *at: os.kill(os.getpid(), end) if at == point else None,
            )
            save()
        finally:
            os._exit(1)
    return os.waitpid(child, 0)[1]


@pytest.mark.slow
def test_kill_at_every_call(old, system, tmp_path):
    path, content, forest = old
    new = content_of(forest, tmp_path / "new.cqrf")
    n_calls = number_of_calls(forest, tmp_path / "new.cqrf")
    assert n_calls > 20
    left_behind = set()
    for at in range(n_calls):
        for moment, end in (("before", signal.SIGKILL), ("after", signal.SIGTERM)):
            path.write_bytes(content)
            status = killed(lambda: forest.save(path), end, (at, moment))
            assert os.WIFSIGNALED(status)
            assert os.WTERMSIG(status) == end
            assert path.read_bytes() in (content, new)
            left_behind |= {len(os.listdir(path.parent)) - 1}
            # What a killed process leaves, the next save removes.
            forest.save(path)
            assert os.listdir(path.parent) == [path.name]
    # A nameless file has a name for one instant only, one with a name all the time.
    assert left_behind == {0, 1}


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO])
def test_error_at_every_call(old, system, tmp_path, error):
    path, content, forest = old
    new = content_of(forest, tmp_path / "new.cqrf")
    for at in range(number_of_calls(forest, tmp_path / "new.cqrf")):

        def fail(number, moment, at=at):
            if number == at and moment == "before":
                raise OSError(error, os.strerror(error))

        path.write_bytes(content)
        descriptors = len(os.listdir("/proc/self/fd"))
        with pytest.MonkeyPatch.context() as patch:
            watch(patch, fail)
            # Cleaning up may fail: then the save itself has not.
            with contextlib.suppress(OSError):
                forest.save(path)
        assert path.read_bytes() in (content, new)
        # A close that fails has closed nothing here.
        assert len(os.listdir("/proc/self/fd")) <= descriptors + 2
        forest.save(path)
        assert [name for name in os.listdir(path.parent) if not name.endswith(".tmp")] == [
            path.name
        ]


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 64 KiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("mounting needs rights")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_full_disk(old, small_disk):
    _, content, forest = old
    path = small_disk / "model.cqrf"
    path.write_bytes(content)
    (small_disk / "filler").write_bytes(bytes(2**15))
    n_full = 0
    for _ in range(5):
        forest.set_params(n_estimators=len(forest.trees_) + 40, warm_start=True)
        forest.fit(*forest_data())
        try:
            forest.save(path)
            content = path.read_bytes()
        except OSError as error:
            n_full += error.errno == errno.ENOSPC
        assert path.read_bytes() == content
        assert sorted(os.listdir(small_disk)) == ["filler", path.name]
    assert n_full > 0
    CensoredQuantileForest.load(path)


class Interrupt(BaseException):
    """What a handler of the user raises."""


def test_signals_at_any_moment(old, system, tmp_path):
    path, content, forest = old
    new = content_of(forest, tmp_path / "new.cqrf")
    rng = np.random.default_rng(0)

    def handler(*_):
        raise Interrupt

    def shoot(delay):
        time.sleep(delay)
        os.kill(os.getpid(), signal.SIGUSR1)

    previous = signal.signal(signal.SIGUSR1, handler)
    n_interrupted = 0
    try:
        for _ in range(150):
            path.write_bytes(content)
            shooter = threading.Thread(target=shoot, args=(rng.uniform(0.0, 3e-3),))
            try:
                shooter.start()
                while shooter.is_alive():
                    forest.save(path)
                # Here at the latest.
                time.sleep(1e-3)
            except Interrupt:
                n_interrupted += 1
            shooter.join()
            assert path.read_bytes() in (content, new)
    finally:
        signal.signal(signal.SIGUSR1, previous)
    # Python drops an exception where it cannot be passed on, as in a callback of its own.
    assert n_interrupted > 100
    forest.save(path)
    assert os.listdir(path.parent) == [path.name]


def test_files_of_others_and_of_the_living_stay(old):
    path, _, forest = old
    folder = path.parent
    kept = [".cqrf-0123.tmp", ".cqrf-0123456789abcdeX.tmp", "cqrf-0123456789abcdef.tmp"]
    for name in kept:
        (folder / name).touch()
    (folder / ".cqrf-0123456789abcdef.tmp").touch()
    target = folder / "target"
    target.write_text("precious")
    (folder / ".cqrf-fedcba9876543210.tmp").symlink_to(target)
    living = ".cqrf-00000000000000ff.tmp"
    with open(folder / living, "wb") as file:
        assert cqrf.storage.container._lock(file.fileno())
        forest.save(path)
        expected = {*kept, living, target.name, path.name, ".cqrf-fedcba9876543210.tmp"}
        assert set(os.listdir(folder)) == expected
    forest.save(path)
    assert set(os.listdir(folder)) == expected - {living}
    assert target.read_text() == "precious"
    assert stat.S_ISREG(os.lstat(path).st_mode)


def test_file_that_is_taken_for_abandoned_before_it_is_locked(old, monkeypatch):
    path, content, forest = old
    monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    lock, calls = cqrf.storage.container._lock, []

    def too_late(file):
        # Another process has come between.
        if not calls:
            (name,) = (name for name in os.listdir(path.parent) if name.endswith(".tmp"))
            os.unlink(path.parent / name)
        calls.append(file)
        return lock(file)

    monkeypatch.setattr(cqrf.storage.container, "_lock", too_late)
    forest.save(path)
    assert len(calls) == 2
    assert path.read_bytes() != content
    assert os.listdir(path.parent) == [path.name]


def test_two_that_save_at_once(old, system, tmp_path):
    path, content, forest = old
    new = content_of(forest, tmp_path / "new.cqrf")
    children = []
    for _ in range(3):
        child = os.fork()
        if child == 0:
            try:
                for _ in range(40):
                    forest.save(path)
                os._exit(0)
            finally:
                os._exit(1)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0]
    assert path.read_bytes() == new != content
    assert os.listdir(path.parent) == [path.name]
