"""Damaged and malicious model files are refused; a save that fails leaves the old file alone."""

import errno
import itertools
import os
import resource
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from attacks import ATTACKS, BLOCK_ATTACKS, Draft, mutate, to_block_bytes

import cqrf.storage.container
from cqrf import CensoredQuantileForest, ModelFileError

N_MUTANTS = 10_000
# Of forests with many rows, whose invariants take longer to look at.
N_LARGE_MUTANTS = 800
SEED = 20_240_611


def draw(n, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": rng.integers(0, 20, n).astype(float),
            "dose": rng.uniform(size=n),
            "colour": rng.choice(["red", "green", "blue"], n),
            "ward": rng.integers(1, 4, n),
        }
    )
    X.loc[rng.uniform(size=n) < 0.1, "dose"] = np.nan
    T = np.exp(0.1 * X["age"] + (X["colour"] == "red") + rng.normal(size=n))
    C = rng.exponential(10.0, n)
    return X, np.minimum(T, C).round(1) + 0.1, T <= C, rng.uniform(0.5, 2.0, n)


@pytest.fixture(scope="module")
def everything(tmp_path_factory):
    """A file in which every array of the format is present."""
    X, y, event, weight = draw(80)
    forest = CensoredQuantileForest(
        4,
        criterion="mse",
        censoring_curve="kernel",
        categorical_features=["colour", "ward"],
        random_state=0,
    ).fit(X, y, event, sample_weight=weight)
    forest.calibrate(X, y, event)
    path = tmp_path_factory.mktemp("everything") / "model.cqrf"
    forest.save(path)
    return path.read_bytes()


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    path = tmp_path_factory.mktemp("tiny") / "model.cqrf"
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(8, 1))
    CensoredQuantileForest(1, min_samples_leaf=2, random_state=0).fit(X, X[:, 0]).save(path)
    return path.read_bytes()


@pytest.fixture(scope="module")
def blocks(tmp_path_factory):
    """Drafts of a forest with two blocks of ranks, in both forms."""
    path = tmp_path_factory.mktemp("blocks") / "model.cqrf"
    forest = CensoredQuantileForest(2, min_samples_leaf=100, max_samples=0.2, random_state=0)
    forest.fit(*draw_many()).save(path)
    counts = Draft(path.read_bytes())
    in_bytes = counts.copy()
    to_block_bytes(in_bytes)
    return {"counts": counts, "bytes": in_bytes}


def draw_many(n=33_000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 40, (n, 1)).astype(float)
    T = X[:, 0] + rng.integers(0, 60, n)
    C = rng.integers(0, 120, n)
    return X, np.minimum(T, C), T <= C


def load(path, data):
    path.write_bytes(data)
    return CensoredQuantileForest.load(path)


def test_draft_puts_a_file_together_again(everything):
    assert Draft(everything).to_bytes() == everything


def test_every_truncation_is_refused(tiny, tmp_path):
    path = tmp_path / "model.cqrf"
    load(path, tiny)
    for length in range(len(tiny)):
        with pytest.raises(ModelFileError):
            load(path, tiny[:length])


def test_every_flipped_bit_is_refused(tiny, tmp_path):
    path = tmp_path / "model.cqrf"
    path.write_bytes(tiny)
    with open(path, "r+b", buffering=0) as file:
        for at, bit in itertools.product(range(len(tiny)), range(8)):
            os.pwrite(file.fileno(), bytes([tiny[at] ^ (1 << bit)]), at)
            with pytest.raises(ModelFileError):
                CensoredQuantileForest.load(path)
            os.pwrite(file.fileno(), tiny[at : at + 1], at)
    CensoredQuantileForest.load(path)


def test_every_appended_byte_is_refused(tiny, tmp_path):
    for more in (b"\0", b"\0" * 64, tiny):
        with pytest.raises(ModelFileError):
            load(tmp_path / "model.cqrf", tiny + more)


def test_there_are_many_attacks_and_each_has_a_name():
    names = [name for name, _, _ in ATTACKS]
    assert len(set(names)) == len(names) >= 60
    assert all(change.__doc__ for _, change, _ in ATTACKS)


@pytest.mark.parametrize(("name", "change", "reason"), ATTACKS, ids=[a[0] for a in ATTACKS])
def test_attack_is_refused(everything, tmp_path, name, change, reason):
    draft = Draft(everything)
    change(draft)
    path = tmp_path / "attack.cqrf"
    with pytest.raises(ModelFileError, match=f"(?s)^{path}: .*({reason})"):
        load(path, draft.to_bytes())


@pytest.mark.parametrize(
    ("kind", "name", "change", "reason"),
    [(kind, *each) for kind, attacks in BLOCK_ATTACKS.items() for each in attacks],
    ids=[f"{kind}-{each[0]}" for kind, attacks in BLOCK_ATTACKS.items() for each in attacks],
)
def test_attack_on_blocks_is_refused(blocks, tmp_path, kind, name, change, reason):
    draft = blocks[kind].copy()
    change(draft)
    path = tmp_path / "attack.cqrf"
    with pytest.raises(ModelFileError, match=f"(?s)^{path}: .*({reason})"):
        load(path, draft.to_bytes())


def test_groups_of_trees_must_be_complete(tmp_path):
    path = tmp_path / "model.cqrf"
    X, y, event, _ = draw(80)
    CensoredQuantileForest(4, ci_group_size=2, min_samples_leaf=5).fit(X, y, event).save(path)
    draft = Draft(path.read_bytes())
    draft.header["options"]["group_size"] = 3
    with pytest.raises(ModelFileError, match="the last group of trees is not complete"):
        load(path, draft.to_bytes())


@pytest.mark.filterwarnings("ignore:.*were drawn by every tree")
def test_forms_of_members_answer_alike(blocks, tmp_path):
    forests = {
        name: load(tmp_path / f"{name}.cqrf", draft.to_bytes()) for name, draft in blocks.items()
    }
    assert forests["counts"].trees_.block_counts is not None
    in_bytes = forests["bytes"].trees_
    assert in_bytes.block_counts is None
    assert in_bytes.members_block.shape == in_bytes.members.shape
    X = np.arange(0.0, 40.0, 3.0)[:, None]
    for ask in (
        lambda f: f.predict(X, [0.1, 0.5, 0.9]),
        lambda f: f.forest_weights(X).toarray(),
        lambda f: f.oob_predict()[::100],
        lambda f: f.trees_.ranks(),
    ):
        answers = [ask(forest) for forest in forests.values()]
        np.testing.assert_array_equal(*answers, strict=True)
    for name, forest in forests.items():
        forest.save(tmp_path / "again.cqrf")
        assert (tmp_path / "again.cqrf").read_bytes() == blocks[name].to_bytes()


def test_nothing_of_the_claimed_size_is_allocated(everything, tmp_path):
    # With no more than half a gigabyte to spare, an allocation of terabytes would be a MemoryError.
    draft = Draft(everything)
    draft.entry("calibration_above")["shape"] = [2**38]
    draft.entry("calibration_above")["length"] = 2**41
    limits = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + 2**29, limits[1]))
    try:
        with pytest.raises(ModelFileError, match="ends after the file"):
            load(tmp_path / "model.cqrf", draft.to_bytes())
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)


@pytest.mark.parametrize(
    ("error", "raised"), [(errno.ENOMEM, MemoryError), (errno.ENODEV, OSError)]
)
def test_file_that_cannot_be_mapped(tiny, tmp_path, monkeypatch, error, raised):
    def refuse(*args, **options):
        raise OSError(error, os.strerror(error))

    monkeypatch.setattr(cqrf.storage.container.mmap, "mmap", refuse)
    with pytest.raises(raised):
        load(tmp_path / "model.cqrf", tiny)


def assert_sound(forest, X):
    """The invariants of a fitted forest in slow, plain Python; and its answers are finite."""
    trees, target = forest.trees_, forest.target_
    n = target.n
    assert (np.diff(target.times) > 0).all()
    assert np.isfinite(target.times).all()
    assert np.array_equal(np.unique(target.time_index), np.arange(len(target.times)))
    assert len(set(target.order.tolist())) == n <= target.n_rows
    assert (forest.model_.bins <= trees.missing).all()
    ranks = trees.ranks()
    for t in range(len(trees)):
        nodes = trees.nodes[trees.node_offset[t] : trees.node_offset[t + 1]]
        leaf = nodes[:, 2] >> 16 & 1 == 1
        children = nodes[~leaf, 0]
        assert (children > np.flatnonzero(~leaf)).all()
        assert sorted([0, *children, *children + 1]) == list(range(len(nodes)))
        start = trees.leaf_start[trees.leaf_offset[t] : trees.leaf_offset[t + 1]]
        assert sorted(nodes[leaf, 3]) == list(range(len(start) - 1))
        # Each rank once, and all of them unless the tree is honest.
        members = np.sort(ranks[t, : start[-1]])
        honest = trees.members.shape[1] < n
        assert (np.diff(members.astype(int)) > 0).all()
        assert honest or len(members) == n
        assert members[-1] < n
        for begin, end in itertools.pairwise(start.tolist()):
            assert begin < end
            own = ranks[t, begin:end].astype(int)
            assert (np.diff(own) > 0).all()
            # Two bytes tell the place in a block and the event.
            packed = own % 2**15 + 2**15 * target.event[own].astype(int)
            assert np.array_equal(trees.members[t, begin:end], packed)
    assert np.isfinite(forest.predict(X, [0.1, 0.5, 0.9])).all()
    assert np.isfinite(forest.predict(X)).all()
    if forest.calibration_ is not None:
        bounds = forest.predict_interval(X, method="conformal")
        assert (bounds[:, 0] <= bounds[:, 1]).all()
    assert ((forest.apply(X) >= 0) & (forest.apply(X) < n)).all()
    np.testing.assert_allclose(forest.forest_weights(X).sum(axis=1), 1.0)
    survival = forest.predict_survival_function(X, return_array=True)
    assert ((survival >= 0) & (survival <= 1)).all()


# Beside the forest with every array: other shapes of members, times that are negated, levels that
# are mirrored, no weights, no categories.
OTHERS = {
    "honest": {"honest": True, "criterion": "quantile", "max_samples": 0.6},
    "left": {"censoring": "left", "min_samples_leaf": 3},
    "kernel": {"censoring_curve": "kernel", "bootstrap": True, "solver": "argmin"},
    "categorical": {"categorical_features": ["age", "colour", "ward"], "criterion": "mse"},
}


@pytest.fixture(scope="module")
def drafts(everything, blocks, tmp_path_factory):
    path = tmp_path_factory.mktemp("others") / "model.cqrf"
    X, y, event, _ = draw(80)
    files = {"everything": everything}
    for name, params in OTHERS.items():
        CensoredQuantileForest(4, random_state=0, **params).fit(X, y, event).save(path)
        files[name] = path.read_bytes()
    return {name: Draft(data) for name, data in files.items()} | blocks


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*were drawn by every tree")
@pytest.mark.parametrize("kind", ["everything", *OTHERS, *BLOCK_ATTACKS])
def test_mutants_are_refused_or_sound(drafts, kind, tmp_path):
    large = kind in BLOCK_ATTACKS
    X = pd.DataFrame({"x": [0.0, 7.0, 39.0]}) if large else draw(4, seed=1)[0]
    n_mutants = N_LARGE_MUTANTS // 2 if large else N_MUTANTS // (1 + len(OTHERS))
    base = drafts[kind]
    rng = np.random.default_rng([SEED, *kind.encode()])
    path = tmp_path / "mutant.cqrf"
    loaded = 0
    for number in range(n_mutants):
        draft = base.copy()
        mutate(draft, rng)
        try:
            forest = load(path, draft.to_bytes())
        except ModelFileError:
            continue
        loaded += 1
        names = getattr(forest, "feature_names_in_", None)
        known = X.to_numpy() if names is None else X.set_axis(names, axis=1)
        try:
            assert_sound(forest, known)
            # Not of many rows: every one of them would be answered.
            if not large and (
                forest.model_.options.replace or forest.model_.options.n_draws < forest.target_.n
            ):
                forest.oob_predict()
        except Exception as error:
            raise AssertionError(f"mutant {number} is not sound: {error!r}") from error
    # Both happen often, or the loop tests less than it says.
    assert (number + 1) / 20 < loaded < (number + 1) / 2


@pytest.fixture
def old(tmp_path):
    """A folder with a model file in it, its content, and a forest to be saved over it."""
    X, y, event, _ = draw(60)
    X = X[["age", "dose"]]
    forest = CensoredQuantileForest(3, random_state=0).fit(X, y, event)
    path = tmp_path / "alone" / "model.cqrf"
    path.parent.mkdir()
    forest.save(path)
    content = path.read_bytes()
    return path, content, CensoredQuantileForest(5, random_state=1).fit(X, y, event)


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO])
def test_error_at_any_write_leaves_the_old_file(old, tmp_path, monkeypatch, error):
    path, content, forest = old
    write, calls = cqrf.storage.container.write_whole, []

    def counting(file, data):
        calls.append(len(data))
        write(file, data)

    def failing(file, data):
        calls.pop()
        if not calls:
            os.write(file, data[: len(data) // 2])
            raise OSError(error, os.strerror(error))
        write(file, data)

    monkeypatch.setattr(cqrf.storage.container, "write_whole", counting)
    forest.save(tmp_path / "another.cqrf")
    n_writes = len(calls)
    assert n_writes > 20
    monkeypatch.setattr(cqrf.storage.container, "write_whole", failing)
    for k in range(1, n_writes + 1):
        calls[:] = [0] * k
        with pytest.raises(OSError) as raised:
            forest.save(path)
        assert raised.value.errno == error
        assert path.read_bytes() == content
        assert os.listdir(path.parent) == [path.name]


@pytest.mark.parametrize("call", ["fsync", "replace", "link"])
@pytest.mark.parametrize("named", [False, True])
def test_error_at_the_end_leaves_the_old_file(old, monkeypatch, call, named):
    path, content, forest = old
    if named:
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
        if call == "link":
            pytest.skip("a file with a name is not linked")

    def failing(*args, **options):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patch:
        patch.setattr(os, call, failing)
        with pytest.raises(OSError, match="error"):
            forest.save(path)
    assert path.read_bytes() == content
    assert os.listdir(path.parent) == [path.name]
    forest.save(path)
    assert len(CensoredQuantileForest.load(path).trees_) == 5


def test_file_size_limit_leaves_the_old_file(old):
    path, content, forest = old
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
    try:
        with pytest.raises(OSError) as raised:
            forest.save(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert raised.value.errno == errno.EFBIG
    assert path.read_bytes() == content
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_folder_without_permission(old):
    path, content, forest = old
    path.parent.chmod(0o500)
    try:
        with pytest.raises(PermissionError):
            forest.save(path)
    finally:
        path.parent.chmod(0o700)
    assert path.read_bytes() == content


def test_folder_that_is_not_there(old):
    path, _, forest = old
    with pytest.raises(FileNotFoundError):
        forest.save(path.parent / "nowhere" / "model.cqrf")
