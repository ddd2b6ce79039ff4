"""Files of other releases: what is missing has its default, what is unknown is refused.

A release before this one knew fewer names, one after it will know more: here each is this release
with a name taken from its tables, or put into them.
"""

from dataclasses import dataclass

import numpy as np
import pytest

from cqrf import CensoredQuantileForest, ModelFileError, OutcomeLabels
from cqrf.growing.options import GrowOptions
from cqrf.model import stored
from cqrf.storage import header, schema
from cqrf.storage.header import PARAMETERS, SECTIONS
from cqrf.storage.schema import SCHEMA, ArrayType

NOT_DEFAULT = {"n_estimators": 6, "criterion": "mse", "max_bins": 20, "random_state": 0}


@pytest.fixture(scope="module")
def forest():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(80, 2))
    y = rng.exponential(1.0 + X[:, 0])
    fitted = CensoredQuantileForest(**NOT_DEFAULT).fit(X, y, sample_weight=rng.uniform(1, 2, 80))
    fitted.calibrate(X, y)
    fitted.outcome_labels_ = OutcomeLabels("T", "died", "days")
    return fitted


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.cqrf"


def added(table, name, value, before):
    """A table with one more entry, which stands before another one."""
    names = list(table)
    at = names.index(before)
    return {key: table.get(key, value) for key in [*names[:at], name, *names[at:]]}


def without(table, *gone):
    """A table with fewer entries."""
    kept = [name for name in table if name not in gone]
    return {name: table[name] for name in kept} if isinstance(table, dict) else tuple(kept)


def become(patch, parameters=PARAMETERS, arrays=SCHEMA, sections=SECTIONS):
    """Become a release with other tables."""
    for module in (header, stored):
        patch.setattr(module, "PARAMETERS", parameters)
    for module in (schema, stored):
        patch.setattr(module, "SCHEMA", arrays)
    patch.setattr(stored, "SECTIONS", sections)


# Files of a release before this one.


@pytest.mark.parametrize("name", NOT_DEFAULT)
def test_missing_parameter_is_its_default(forest, path, monkeypatch, name):
    with monkeypatch.context() as before:
        become(before, parameters=without(PARAMETERS, name))
        forest.save(path)
    default = CensoredQuantileForest().get_params()[name]
    expected = forest.get_params() | {name: default}
    assert CensoredQuantileForest.load(path).get_params() == expected


def test_without_any_parameter(forest, path, monkeypatch):
    with monkeypatch.context() as before:
        become(before, parameters={})
        forest.save(path)
    loaded = CensoredQuantileForest.load(path)
    assert loaded.get_params() == CensoredQuantileForest().get_params()
    X = np.full((1, 2), 0.5)
    np.testing.assert_array_equal(loaded.predict(X), forest.predict(X))


def test_missing_parts_are_not_there(forest, path, monkeypatch):
    gone = [name for name, entry in SCHEMA.items() if entry.part in ("path", "calibration")]
    with monkeypatch.context() as before:
        sections = without(SECTIONS, "calibration", "outcome_labels")
        become(before, arrays=without(SCHEMA, *gone), sections=sections)
        forest.save(path)
    loaded = CensoredQuantileForest.load(path)
    assert forest.leaf_size_path_ is not None
    assert loaded.leaf_size_path_ is None
    assert forest.calibration_ is not None
    assert loaded.calibration_ is None
    assert loaded.outcome_labels_ == OutcomeLabels()
    X = np.full((1, 2), 0.5)
    np.testing.assert_array_equal(loaded.predict(X), forest.predict(X))


def test_missing_weights_are_equal(forest, path, monkeypatch):
    with monkeypatch.context() as before:
        become(before, arrays=without(SCHEMA, "weight"))
        forest.save(path)
    assert forest.target_.weight is not None
    assert CensoredQuantileForest.load(path).target_.weight is None


def test_a_new_parameter_may_stand_anywhere(forest, path, monkeypatch):
    forest.save(path)
    become(monkeypatch, parameters=added(PARAMETERS, "base", (str,), "criterion"))
    assert CensoredQuantileForest.load(path).get_params() == forest.get_params()


def test_a_new_option_has_the_default_of_its_field(forest, path, monkeypatch):
    @dataclass(frozen=True)
    class Tomorrow(GrowOptions):
        n_shapes: int = 7

    forest.save(path)
    monkeypatch.setattr(header, "GrowOptions", Tomorrow)
    assert stored.read_model(path, 0)[1].options == Tomorrow(
        **vars(forest.model_.options), n_shapes=7
    )


def test_a_new_option_without_a_default_is_missing(forest, path, monkeypatch):
    @dataclass(frozen=True)
    class Tomorrow(GrowOptions):
        n_shapes: int

    forest.save(path)
    monkeypatch.setattr(header, "GrowOptions", Tomorrow)
    with pytest.raises(ModelFileError, match="in options n_shapes is missing"):
        CensoredQuantileForest.load(path)


def test_a_new_label_has_the_default_of_its_field(forest, path, monkeypatch):
    @dataclass(frozen=True)
    class Tomorrow(OutcomeLabels):
        cause: str | None = None

    forest.save(path)
    monkeypatch.setattr(header, "OutcomeLabels", Tomorrow)
    labels = CensoredQuantileForest.load(path).outcome_labels_
    assert labels == Tomorrow("T", "died", "days", None)


def test_a_new_array_may_stand_anywhere_if_it_has_a_part(forest, path, monkeypatch):
    forest.save(path)
    optional = ArrayType("|u1", "n", "cause")
    become(monkeypatch, arrays=added(SCHEMA, "cause", optional, "order"))
    assert CensoredQuantileForest.load(path).get_params() == forest.get_params()
    required = ArrayType("|u1", "n")
    become(monkeypatch, arrays=added(SCHEMA, "cause", required, "order"))
    with pytest.raises(ModelFileError, match="array cause is missing"):
        CensoredQuantileForest.load(path)


# Files of a release after this one.

NEWER = "unknown to this release: the file was written by a newer one"


@pytest.mark.parametrize(
    ("known", "words"),
    [
        ({"parameters": without(PARAMETERS, "max_bins")}, "in params 'max_bins'"),
        ({"arrays": without(SCHEMA, "weight")}, "array 'weight'"),
        ({"arrays": without(SCHEMA, "nodes")}, "array 'nodes'"),
        ({"sections": without(SECTIONS, "outcome_labels")}, "in the header 'outcome_labels'"),
    ],
)
def test_what_a_newer_release_has_added_is_refused(forest, path, monkeypatch, known, words):
    forest.save(path)
    become(monkeypatch, **known)
    with pytest.raises(ModelFileError, match=f"^{path}: {words} is {NEWER}$"):
        CensoredQuantileForest.load(path)


def test_a_newer_format_is_refused(forest, path, monkeypatch):
    with monkeypatch.context() as after:
        after.setattr("cqrf.storage.container.VERSION", 2)
        forest.save(path)
    with pytest.raises(ModelFileError, match="version 2 is unknown; this release reads version 1"):
        CensoredQuantileForest.load(path)
