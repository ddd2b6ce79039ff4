"""Named attacks: each changes one thing in a sound file, and says what `load` must answer."""

import itertools
import json

import numpy as np

from attacks.draft import put_behind

ATTACKS = []


def attack(reason, into=ATTACKS):
    """Register an attack that must be refused with a message that matches `reason`."""

    def register(change):
        into.append((change.__name__, change, reason))
        return change

    return register


def set_item(array, index, value, reason):
    """Register an attack that sets one element of an array."""

    def change(draft):
        draft.arrays[array][index] = value

    change.__name__ = f"{array}_{str(index).replace(' ', '')}_is_{value}"
    change.__doc__ = f"Element {index} of {array} is {value}."
    return attack(reason)(change)


def set_key(reason, value, *keys):
    """Register an attack that sets one value of the header."""

    def change(draft):
        place = draft.header
        for key in keys[:-1]:
            place = place[key]
        place[keys[-1]] = value

    text = json.dumps(value)
    change.__name__ = f"{'.'.join(map(str, keys))}_is_{text if len(text) < 30 else 'long'}"
    change.__doc__ = f"{keys} of the header is {text[:60]}."
    return attack(reason)(change)


# The frame of the file.


@attack("not a cqrf model file")
def wrong_magic(draft):
    """The file of another program."""
    draft.magic = b"\x93NUMPY\x01\0"


@attack("not a cqrf model file")
def magic_of_a_text_transfer(draft):
    """A transfer as text has turned the line end into another."""
    draft.magic = b"\x89cqrf\n\x1a\x01"


@attack("version 2 is unknown; this release reads version 1")
def future_version(draft):
    """A file of another format."""
    draft.version = 2


@attack("version 0 is unknown")
def version_zero(draft):
    """A version that never was."""
    draft.version = 0


@attack("header is longer than the file")
def header_longer_than_file(draft):
    """The length of the header leads beyond the end of the file."""
    draft.header_length = len(draft.to_bytes())


@attack("header is too long")
def header_of_four_gigabytes(draft):
    """The length of the header asks for more memory than any header needs."""
    draft.header_length = 2**32 - 1


@attack("Expecting|Extra data|Unterminated")
def header_cut(draft):
    """The length of the header stops within it."""
    draft.header_length = 700


@attack("Expecting value")
def header_empty(draft):
    """There is no header."""
    draft.text = b""


@attack("Extra data")
def header_with_data(draft):
    """The length of the header reaches into the zeros after it."""
    draft.header_length = len(draft.right_text()) + 1


@attack("after the last array")
def bytes_after_the_arrays(draft):
    """Bytes that nothing describes."""
    draft.tail = b"\0" * 8


@attack("bytes after the header are not zero")
def filled_gap_after_the_header(draft):
    """Bytes hidden behind the header."""
    draft.text = draft.right_text()
    assert len(draft.text) % 64 != 48
    draft.header_filler = b"\x01"


@attack(r"bytes before array \w+ are not zero")
def filled_gaps(draft):
    """Bytes hidden between the arrays."""
    draft.filler = b"\x01"


@attack("ends after the file")
def last_array_missing(draft):
    """The table is right, but its last array is not in the file."""
    draft.entry("nodes")
    del draft.arrays["calibration_above"]


# The header as JSON.


@attack("Expecting value")
def header_not_json(draft):
    """The header is a pickle."""
    draft.text = b"cos\nsystem\n(S'true'\ntR."


@attack("not a JSON object")
def header_is_a_list(draft):
    """The header is JSON of another kind."""
    draft.text = b"[]"


@attack("ascii")
def header_not_ascii(draft):
    """The header holds bytes that are no ASCII."""
    draft.text = draft.right_text().replace(b'"right"', b'"r\xffght"')


@attack("recursion")
def header_nested(draft):
    """A header nested deeper than any stack."""
    draft.text = b"[" * 200_000


@attack("not in the form")
def duplicate_key(draft):
    """The same key twice: two readers could take different ones."""
    draft.text = draft.right_text().replace(b'"seed":', b'"seed":1,"seed":')


@attack("not in the form")
def header_with_spaces(draft):
    """The same content, written differently."""
    draft.text = json.dumps(json.loads(draft.right_text())).encode()


@attack("not in the form")
def header_with_escapes(draft):
    """A letter written as an escape."""
    draft.text = draft.right_text().replace(b'"right"', b'"\\u0072ight"')


@attack("not JSON compliant|Out of range float")
def header_with_nan(draft):
    """NaN, which is no JSON."""
    draft.header["kernel"]["bandwidth"] = float("nan")


@attack("not JSON compliant|Out of range float")
def header_with_infinity(draft):
    """A number that overflows to infinity."""
    draft.text = draft.right_text().replace(
        b'"default_quantiles":0.5', b'"default_quantiles":1e999'
    )


@attack("integer string conversion|limit")
def header_with_endless_number(draft):
    """A number of a hundred thousand digits, slow to convert."""
    draft.text = draft.right_text().replace(b'"seed":', b'"seed":' + b"9" * 100_000)


@attack("in the header '__class__' is unknown to this release: the file was written by a newer")
def unknown_key(draft):
    """A key that the format does not have."""
    draft.header["__class__"] = "os.system"


@attack("in the header params, mirrored is missing")
def missing_keys(draft):
    """Keys that the format needs."""
    del draft.header["params"], draft.header["mirrored"]


@attack("header must be in the order")
def keys_out_of_order(draft):
    """Keys in another order."""
    draft.header["params"] = draft.header.pop("params")


@attack("params must be in the order")
def parameters_out_of_order(draft):
    """Parameters in another order."""
    draft.header["params"] = dict(sorted(draft.header["params"].items()))


@attack("table of arrays is missing")
def no_table(draft):
    """No table of arrays."""
    draft.text = json.dumps(draft.header, separators=(",", ":")).encode()


# The table of arrays.


@attack("table of arrays is missing")
def table_is_an_object(draft):
    """The table is of another kind."""
    draft.table = {}


@attack("other keys")
def entry_is_a_number(draft):
    """An entry is of another kind."""
    draft.table = [1]


@attack("other keys")
def entry_with_unknown_key(draft):
    """An entry has one key more."""
    draft.entry("times")["order"] = "F"


@attack("other keys")
def entry_without_length(draft):
    """An entry has one key less."""
    del draft.entry("times")["length"]


@attack("array 'nodes_' is unknown to this release: the file was written by a newer one")
def unknown_array(draft):
    """A name that the format does not have."""
    draft.entry("nodes")["name"] = "nodes_"


@attack("cannot have the name")
def name_is_a_list(draft):
    """A name that cannot be looked up."""
    draft.entry("nodes")["name"] = ["nodes"]


@attack("is there twice")
def array_twice(draft):
    """Two entries for one array."""
    draft.entry("node_offset")["name"] = "nodes"


@attack("array times is missing")
def array_missing(draft):
    """An array that the format needs is not there."""
    del draft.arrays["times"]


@attack("not in the order")
def arrays_out_of_order(draft):
    """Two arrays have changed places."""
    draft.arrays["nodes"] = draft.arrays.pop("nodes")


@attack("must have dtype '<f8'")
def wrong_dtype(draft):
    """Times as 32-bit floats."""
    draft.arrays["times"] = draft.arrays["times"].astype("<f4")


@attack("must have dtype '<i8'")
def object_dtype(draft):
    """Pointers."""
    draft.entry("order")["dtype"] = "|O"


@attack("must have dtype '<f8'")
def big_endian_dtype(draft):
    """Bytes in the other order."""
    draft.entry("times")["dtype"] = ">f8"


@attack("must have dtype '<u2'")
def integers_as_signed(draft):
    """Ranks as signed numbers, which may be negative."""
    draft.entry("members")["dtype"] = "<i2"


@attack("members must have dtype '<u2'")
def members_of_four_bytes(draft):
    """Ranks as the versions before had them."""
    draft.arrays["members"] = (draft.arrays["members"] & 0x7FFF).astype("<u4")


@attack("cannot have the shape")
def negative_shape(draft):
    """Two negative sizes whose product is right."""
    rows, columns = draft.entry("bins")["shape"]
    draft.entry("bins")["shape"] = [-rows, -columns]


@attack("cannot have the shape")
def shape_of_another_rank(draft):
    """One axis too many."""
    draft.entry("times")["shape"].append(1)


@attack("cannot have the shape")
def shape_of_floats(draft):
    """Sizes that are equal to whole numbers but are none."""
    draft.entry("times")["shape"] = [float(len(draft.arrays["times"]))]


@attack("cannot have the shape")
def shape_is_true(draft):
    """True is 1 in Python."""
    draft.entry("times")["shape"] = [True]


@attack("must have length")
def huge_shape(draft):
    """A shape of exabytes, over a length that is in the file."""
    draft.entry("members")["shape"] = [2**40, 2**40]


@attack("must have offset|ends after the file")
def huge_shape_and_length(draft):
    """A shape and a length of terabytes."""
    draft.entry("members")["shape"] = [2**20, 2**20]
    draft.entry("members")["length"] = 2**41


@attack("ends after the file")
def huge_last_array(draft):
    """A shape, a length and nothing after it: only the size of the file is in the way."""
    draft.entry("calibration_above")["shape"] = [2**50]
    draft.entry("calibration_above")["length"] = 2**53


@attack("must have length")
def shape_that_wraps_around(draft):
    """A product of sizes that is right modulo 2^64."""
    draft.entry("nodes")["shape"][0] += 2**60


@attack("must have offset")
def overlapping_arrays(draft):
    """Two arrays on the same bytes."""
    draft.entry("node_offset")["offset"] = 0


@attack("must have offset")
def hole_between_arrays(draft):
    """An array that begins later than it could."""
    draft.entry("members")["offset"] += 64


@attack("must have offset")
def negative_offset(draft):
    """An array in the header."""
    draft.entry("nodes")["offset"] = -64


@attack("must have offset")
def offset_not_aligned(draft):
    """An array at an odd address."""
    draft.entry("node_offset")["offset"] -= 1


@attack("must have offset")
def offset_is_a_float(draft):
    """A number that is equal to a whole one but is none."""
    draft.entry("nodes")["offset"] = 0.0


@attack("must have length")
def length_too_short(draft):
    """A length that does not go with the shape."""
    draft.entry("times")["length"] -= 8


# Parameters and options.

PARAMS = "params"
set_key("params must be an object", [], PARAMS)
set_key("params must be an object", None, PARAMS)
set_key("in params '__init__' is unknown to this release", 1, PARAMS, "__init__")
set_key("n_estimators must be at least 1", 0, PARAMS, "n_estimators")
set_key("n_estimators cannot", True, PARAMS, "n_estimators")
set_key("n_estimators cannot", 10.0, PARAMS, "n_estimators")
set_key("criterion must be one of", "gini", PARAMS, "criterion")
set_key("criterion cannot", None, PARAMS, "criterion")
set_key("n_thresholds must", 0, PARAMS, "n_thresholds")
set_key("max_depth must", -1, PARAMS, "max_depth")
set_key("min_samples_leaf as a fraction", 2.5, PARAMS, "min_samples_leaf")
set_key("max_features", "all", PARAMS, "max_features")
set_key("max_features", 99, PARAMS, "max_features")
set_key("max_samples", 10**6, PARAMS, "max_samples")
set_key("bootstrap cannot", 1, PARAMS, "bootstrap")
set_key("ci_group_size must be at least 1", 0, PARAMS, "ci_group_size")
set_key("ci_group_size cannot", None, PARAMS, "ci_group_size")
set_key("multiple of ci_group_size", 3, PARAMS, "ci_group_size")
set_key("censoring must be one of", "interval", PARAMS, "censoring")
set_key("censoring_curve must be one of", "cox", PARAMS, "censoring_curve")
set_key("n_neighbors must not exceed", 10**9, PARAMS, "n_neighbors")
set_key("bandwidth must be positive", -1.0, PARAMS, "bandwidth")
set_key("solver", "newton", PARAMS, "solver")
set_key("interpolation", "cubic", PARAMS, "interpolation")
set_key("default_quantiles must lie", 1.0, PARAMS, "default_quantiles")
set_key("default_quantiles is empty", [], PARAMS, "default_quantiles")
set_key("default_quantiles cannot", [[0.5]], PARAMS, "default_quantiles")
set_key("time_resolution must be one of", "full", PARAMS, "time_resolution")
set_key("time_resolution must be at least 1", 0, PARAMS, "time_resolution")
set_key("time_resolution must be at least 1", -(2**70), PARAMS, "time_resolution")
set_key("time_resolution cannot", 8192.0, PARAMS, "time_resolution")
set_key("time_resolution cannot", True, PARAMS, "time_resolution")
set_key("time_resolution cannot", [8192], PARAMS, "time_resolution")
set_key("max_bins must be", 1000, PARAMS, "max_bins")
set_key("categorical_features cannot", [None], PARAMS, "categorical_features")
set_key("categorical_features cannot", {"a": 1}, PARAMS, "categorical_features")
set_key("n_jobs must be at most 1024", 10**6, PARAMS, "n_jobs")
set_key("n_jobs must not be 0", 0, PARAMS, "n_jobs")
set_key("random_state must lie", -1, PARAMS, "random_state")
set_key("random_state cannot", "numpy.random", PARAMS, "random_state")
set_key("warm_start cannot", "yes", PARAMS, "warm_start")

OPTIONS = "options"
set_key("options must be an object", None, OPTIONS)
set_key("in options rule, n_thresholds, .*, group_size is missing", {}, OPTIONS)
set_key("in options 'shape' is unknown to this release", 1, OPTIONS, "shape")
set_key("no rule", "gini", OPTIONS, "rule")
set_key("option rule cannot", ["mse"], OPTIONS, "rule")
set_key("n_thresholds must lie", -1, OPTIONS, "n_thresholds")
set_key("min_samples_split cannot", None, OPTIONS, "min_samples_split")
set_key("min_samples_split must lie", 1, OPTIONS, "min_samples_split")
set_key("min_samples_leaf must lie", 2**32, OPTIONS, "min_samples_leaf")
set_key("max_depth must lie", 0, OPTIONS, "max_depth")
set_key("max_features must lie", 4000, OPTIONS, "max_features")
set_key("n_draws must lie", 0, OPTIONS, "n_draws")
set_key("n_draws must lie", 10**12, OPTIONS, "n_draws")
set_key("replace cannot", 0, OPTIONS, "replace")
set_key("members must have", True, OPTIONS, "honest")
set_key("group_size must lie", 0, OPTIONS, "group_size")
set_key("group_size must lie", -2, OPTIONS, "group_size")
set_key("option group_size cannot", 2.0, OPTIONS, "group_size")
set_key("n_draws must lie", 2, OPTIONS, "group_size")

set_key("mirrored must be", 0, "mirrored")
set_key("seed is out of range", -1, "seed")
set_key("seed is out of range", 2**63, "seed")
set_key("seed is out of range", 1.5, "seed")
set_key("kernel must be an object", None, "kernel")
set_key("in kernel bandwidth is missing", {}, "kernel")
set_key("in kernel 'shape' is unknown to this release", "box", "kernel", "shape")
set_key("bandwidth cannot", 1, "kernel", "bandwidth")
set_key("bandwidth must be positive", 0.0, "kernel", "bandwidth")
set_key("feature_names", None, "feature_names")
set_key("feature_names", ["a"], "feature_names")
set_key("feature_names", [1, 2, 3, 4], "feature_names")
set_key("feature_names", "abcd", "feature_names")


# Tables of categories: column 2 is text, column 3 whole numbers.

CATEGORIES = "categories"
set_key("categories must be a list", None, CATEGORIES)
set_key("must have column", ["red"], CATEGORIES)
set_key("must have column", {"column": 2}, CATEGORIES, 0)
set_key("differ in number", [], CATEGORIES)
set_key("must ascend", -1, CATEGORIES, 0, "column")
set_key("must ascend", 4, CATEGORIES, 1, "column")
set_key("must ascend", 2, CATEGORIES, 1, "column")
set_key("must ascend", "colour", CATEGORIES, 0, "column")
set_key("differ in number", 1, CATEGORIES, 0, "column")
set_key("cannot have the dtype", "datetime64[ns]", CATEGORIES, 0, "dtype")
set_key("cannot have the dtype", "O8", CATEGORIES, 0, "dtype")
set_key("cannot have the dtype", None, CATEGORIES, 0, "dtype")
set_key("cannot have the dtype", {}, CATEGORIES, 0, "values")
set_key("not all of dtype", [["red"]] * 3, CATEGORIES, 0, "values")
set_key("not all of dtype", [None, "green", "red"], CATEGORIES, 0, "values")
set_key("is there twice", ["blue", "blue", "red"], CATEGORIES, 0, "values")
set_key("differ in number", ["blue", "green"], CATEGORIES, 0, "values")
set_key("not sorted", [3, 2, 1], CATEGORIES, 1, "values")
set_key("not all of dtype", [1.0, 2.0, 3.0], CATEGORIES, 1, "values")
set_key("int|fit", [1, 2, 2**70], CATEGORIES, 1, "values")


@attack("does not fit float32")
def categories_that_would_be_rounded(draft):
    """Numbers that are others in the type that is said to hold them."""
    draft.header["categories"][1] |= {"dtype": "float32", "values": [0.1, 0.2, 0.3]}


# Outcomes.

set_item("times", 0, np.nan, "times must be finite")
set_item("times", -1, np.inf, "times must be finite")
set_item("times", 0, 1e300, "ascending order")
set_item("time_index", 0, 1, "cover the times")
set_item("time_index", -1, 2**32 - 1, "cover the times")
set_item("time_index", 5, 2**31, "leaves a time out")
set_item("event", 3, 2, "events must be 0 or 1")
set_item("weight", 0, 0.0, "weights must be positive")
set_item("weight", 1, -1.0, "weights must be positive")
set_item("weight", 2, np.nan, "weights must be positive")
set_item("weight", 3, np.inf, "weights must be positive")
set_item("weight", 4, 1.0, "largest weight")
set_item("order", 0, -1, "every row once")
set_item("order", 0, 2**62, "every row once")


@attack("ascending order")
def times_equal(draft):
    """The same time twice."""
    draft.arrays["times"][1] = draft.arrays["times"][0]


@attack("every row once")
def order_repeats_a_row(draft):
    """Two ranks of one row."""
    draft.arrays["order"][1] = draft.arrays["order"][0]


@attack("differ in length")
def order_of_fewer_rows(draft):
    """Ranks without a row."""
    draft.arrays["order"] = draft.arrays["order"][:-1]


@attack("every row once")
def order_of_more_rows(draft):
    """A row beyond those of the file."""
    draft.arrays["order"] = np.append(draft.arrays["order"], 10**9)


@attack("before an event")
def censoring_before_event(draft):
    """At a tied time the censored row comes first."""
    index, event = draft.arrays["time_index"], draft.arrays["event"]
    index[1:] -= index[1] - index[0]
    event[:2] = (0, 1)
    draft.arrays["times"] = draft.arrays["times"][: index[-1] + 1]


@attack("there is no event")
def no_events(draft):
    """Everything is censored."""
    draft.arrays["event"][:] = 0


@attack("array event: its axis n must have 80, not 79")
def fewer_events(draft):
    """Outcomes that differ in length."""
    draft.arrays["event"] = draft.arrays["event"][:-1]


@attack("differ in length")
def no_rows(draft):
    """Outcomes without rows."""
    for name in ("times", "time_index", "event", "order", "weight", "bins", "kernel_points"):
        draft.arrays[name] = draft.arrays[name][:0]


@attack("cover the times")
def times_without_rows(draft):
    """A time that no row has."""
    times = draft.arrays["times"]
    draft.arrays["times"] = np.append(times, times[-1] + 1.0)


# Features.

set_item("cuts", 0, np.nan, "cuts must be finite")
set_item("cuts", 1, -1e300, "cuts are not in ascending order")
set_item("cut_offset", 0, 1, "bin offsets")
set_item("cut_offset", 1, -5, "bin offsets")
set_item("cut_offset", 1, 2**62, "bin offsets")
set_item("category_bins", 0, 200, "number of bins")
set_item("category_offset", -1, 0, "bin offsets")
set_item("n_bins", 0, 0, "number of bins")
set_item("n_bins", 1, 255, "number of bins")
set_item("bins", (3, 3), 255, "bin beyond")


@attack("array bins: its axis n must have 80, not 79")
def bins_of_fewer_rows(draft):
    """Bins of some of the rows."""
    draft.arrays["bins"] = draft.arrays["bins"][:-1]


@attack("no features")
def no_features(draft):
    """Nothing to split by."""
    for name in ("cuts", "category_bins", "n_bins", "kernel_scale"):
        draft.arrays[name] = draft.arrays[name][:0]
    draft.arrays["bins"] = draft.arrays["bins"][:, :0]
    for name in ("cut_offset", "category_offset"):
        draft.arrays[name] = np.zeros(1, "<i8")


set_item("kernel_scale", 0, np.nan, "kernel_scale is out of range")
set_item("kernel_scale", 0, -1.0, "kernel_scale is out of range")
set_item("kernel_points", (0, 0), np.inf, "kernel_points must be finite")


@attack("array kernel_points: its axis n must have 80, not 79")
def points_of_fewer_rows(draft):
    """The kernel would read beyond its points."""
    draft.arrays["kernel_points"] = draft.arrays["kernel_points"][:-1]


@attack("kernel_points must have 8 columns")
def points_of_fewer_columns(draft):
    """The kernel would read the next row."""
    draft.arrays["kernel_points"] = draft.arrays["kernel_points"][:, :-1].copy()


@attack("array kernel_scale: its axis p must have 4, not 3")
def scale_of_fewer_features(draft):
    """A scale for some of the features."""
    draft.arrays["kernel_scale"] = draft.arrays["kernel_scale"][:-1]


@attack("array kernel_points is missing")
def points_missing(draft):
    """A scale without points."""
    del draft.arrays["kernel_points"]


@attack("kernel must be both in the header and among the arrays")
def bandwidth_without_points(draft):
    """A part whose arrays are not there."""
    del draft.arrays["kernel_points"], draft.arrays["kernel_scale"]


@attack("kernel must be both in the header and among the arrays")
def points_without_bandwidth(draft):
    """Arrays of a part that the header does not know."""
    del draft.header["kernel"]


@attack("needs the points")
def kernel_without_points(draft):
    """A forest whose censoring curve needs points, without them."""
    del draft.arrays["kernel_points"], draft.arrays["kernel_scale"], draft.header["kernel"]


set_item("path_size", 0, 10**6, "sizes of the path")
set_item("path_loss", 0, np.nan, "losses of the path")
set_item("path_std_error", 0, -1.0, "losses of the path")


@attack("does not lead")
def path_to_another_size(draft):
    """The loss is smallest at a size that was not used."""
    draft.arrays["path_loss"][:] = 0.0


@attack("array path_loss is missing")
def path_without_losses(draft):
    """A part of the path."""
    del draft.arrays["path_loss"]


@attack("array path_loss: its axis s must have")
def path_of_fewer_losses(draft):
    """Sizes without a loss."""
    draft.arrays["path_loss"] = draft.arrays["path_loss"][:-1]


@attack("sizes of the path")
def path_without_sizes(draft):
    """A path that leads nowhere."""
    for name in ("size", "loss", "std_error"):
        draft.arrays[f"path_{name}"] = draft.arrays[f"path_{name}"][:0]


set_key("calibration must be an object", None, "calibration")
set_key("calibration must be an object", [80, True], "calibration")
set_key("in calibration n_rows, out_of_bag is missing", {}, "calibration")
set_key("more levels than rows", 0, "calibration", "n_rows")
set_key("more levels than rows", 80.0, "calibration", "n_rows")
set_key("more levels than rows", 1, "calibration", "out_of_bag")
set_item("calibration_level", 0, np.nan, "calibration_level is unsound")
set_item("calibration_level", -1, 1.5, "calibration_level is unsound")
set_item("calibration_below", 0, 1.0, "calibration_below is unsound")
set_item("calibration_above", 0, 0.0, "calibration_above is unsound")
set_item("calibration_above", -1, -0.1, "calibration_above is unsound")


@attack("array calibration_level is missing")
def calibration_without_levels(draft):
    """A part of the calibration."""
    del draft.arrays["calibration_level"]


@attack("calibration must be both in the header and among the arrays")
def calibration_without_rows(draft):
    """Levels of which the header does not know the rows."""
    del draft.header["calibration"]


@attack("array calibration_below: its axis k must have")
def calibration_of_fewer_levels(draft):
    """Probabilities without a level."""
    draft.arrays["calibration_level"] = draft.arrays["calibration_level"][:-1]


@attack("more levels than rows")
def calibration_without_events(draft):
    """A calibration that knows nothing."""
    for name in ("level", "below", "above"):
        draft.arrays[f"calibration_{name}"] = draft.arrays[f"calibration_{name}"][:0]


# Trees. Words of a node: child, feature, rule, index.

CHILD, FEATURE, RULE, INDEX = range(4)
LEAF, CATEGORICAL = 1 << 16, 1 << 17


def first_leaf(draft):
    return int(np.argmax(draft.arrays["nodes"][:, RULE] & LEAF > 0))


def first_set(draft):
    return int(np.argmax(draft.arrays["nodes"][:, RULE] == CATEGORICAL))


def first_cut(draft):
    return int(np.argmax(draft.arrays["nodes"][:, RULE] < LEAF))


def large_leaf(draft):
    """Position in the first tree of the first of two members of one leaf."""
    start = draft.arrays["leaf_start"][: draft.arrays["leaf_offset"][1]]
    return int(start[np.argmax(np.diff(start) > 1)])


set_item("nodes", (0, CHILD), 0, "child index")
set_item("nodes", (0, CHILD), 2**32 - 1, "child index")
set_item("nodes", (0, FEATURE), 4, "feature index")
set_item("nodes", (0, FEATURE), 2**32 - 1, "feature index")
set_item("node_offset", 0, -1, "node offsets")
set_item("node_offset", 1, 2**62, "node offsets")
set_item("node_offset", 1, 0, "node offsets")
set_item("node_offset", -1, 10**6, "node offsets")
set_item("subset_offset", 1, 10**6, "subset offsets")
set_item("leaf_offset", 1, -(2**63), "leaf offsets")
set_item("leaf_offset", 1, 1, "leaf offsets")
set_item("leaf_start", 0, 1, "leaf starts")
set_item("leaf_start", 1, 0, "empty leaf")
set_item("leaf_start", 1, 2**32 - 1, "empty leaf")
set_item("members", (0, 0), 2**15 - 1, "member out of range")
set_item("members", (0, 0), 2**16 - 1, "member out of range")
set_item("members", (-1, -1), 80, "member out of range")
set_item("members", (-1, -1), 80 + 2**15, "member out of range")


@attack("child index")
def child_before_parent(draft):
    """A walk that never ends."""
    nodes = draft.arrays["nodes"]
    later = 1 + int(np.argmax(nodes[1:, RULE] & LEAF == 0))
    nodes[later, CHILD] = 1


@attack("two parents")
def child_of_two_parents(draft):
    """A tree that is none."""
    nodes = draft.arrays["nodes"]
    later = 1 + int(np.argmax(nodes[1:, RULE] & LEAF == 0))
    nodes[0, CHILD] = nodes[later, CHILD]


@attack("leaf")
def leaf_that_is_left(draft):
    """A leaf that sends rows to another node."""
    draft.arrays["nodes"][first_leaf(draft), CHILD] += 1


@attack("leaf")
def leaf_with_a_feature(draft):
    """A leaf that reads a feature that is not there."""
    draft.arrays["nodes"][first_leaf(draft), FEATURE] = 10**6


@attack("leaf")
def leaf_out_of_range(draft):
    """A leaf number beyond the leaves."""
    draft.arrays["nodes"][first_leaf(draft), INDEX] = 10**6


@attack("leaf number used twice")
def leaf_number_twice(draft):
    """Two leaves with the same members."""
    nodes = draft.arrays["nodes"][: draft.arrays["node_offset"][1]]
    leaves = np.flatnonzero(nodes[:, RULE] & LEAF)
    nodes[leaves[0], INDEX] = nodes[leaves[1], INDEX]


@attack("subset index")
def subset_out_of_range(draft):
    """A set of bins beyond the sets."""
    draft.arrays["nodes"][first_set(draft), INDEX] = 10**6


@attack("subset index")
def set_with_a_cut(draft):
    """A categorical split that is a cut as well."""
    draft.arrays["nodes"][first_set(draft), RULE] |= 7


@attack("cut")
def cut_with_unknown_bits(draft):
    """Flags that the format does not have."""
    draft.arrays["nodes"][first_cut(draft), RULE] |= 1 << 31


@attack("cut")
def cut_with_a_shift(draft):
    """A shift that is not that of the missing bin."""
    draft.arrays["nodes"][first_cut(draft), RULE] |= 0xFE << 8


@attack("array nodes: its axis 4 must have 4, not 5")
def nodes_of_five_words(draft):
    """Nodes of another size."""
    nodes = draft.arrays["nodes"]
    draft.arrays["nodes"] = np.column_stack([nodes, nodes[:, :1]])


@attack("leaf offsets")
def last_leaf_start_missing(draft):
    """One start of a leaf too few."""
    draft.arrays["leaf_start"] = draft.arrays["leaf_start"][:-1]


@attack("no trees")
def no_trees(draft):
    """A forest without trees."""
    for name in ("nodes", "subsets", "leaf_start", "members"):
        draft.arrays[name] = draft.arrays[name][:0]
    for name in ("node_offset", "subset_offset", "leaf_offset"):
        draft.arrays[name] = np.zeros(1, "<i8")


@attack("no trees")
def no_offsets(draft):
    """Offsets without even a zero."""
    for name in ("node_offset", "subset_offset", "leaf_offset"):
        draft.arrays[name] = draft.arrays[name][:0]


@attack(r"array leaf_offset: its axis B\+1 must have 5, not 4")
def offsets_of_fewer_trees(draft):
    """A tree whose leaves begin nowhere."""
    draft.arrays["leaf_offset"] = draft.arrays["leaf_offset"][:-1]


@attack("number of members")
def members_of_fewer_trees(draft):
    """A tree without members."""
    draft.arrays["members"] = draft.arrays["members"][:-1]


@attack("members must have")
def members_of_fewer_rows(draft):
    """Trees that leave a rank out."""
    draft.arrays["members"] = draft.arrays["members"][:, :-1]


@attack("a member's event")
def member_with_another_event(draft):
    """The bit of the event says something else than the outcomes."""
    draft.arrays["members"][0, 0] ^= 2**15


@attack("a member's event")
def members_without_events(draft):
    """Ranks alone."""
    draft.arrays["members"] &= 2**15 - 1


@attack("number of block bytes")
def blocks_of_few_rows(draft):
    """A block for each member, where there is but one."""
    put_behind(draft, "members", "members_block", np.zeros(draft.arrays["members"].shape, "|u1"))


@attack("array members_block: its axis B must have 4, not 0")
def blocks_without_members(draft):
    """An array of blocks that has no element."""
    put_behind(draft, "members", "members_block", np.zeros((0, 0), "|u1"))


@attack("array members_block_high: its axis B must have 4, not 0")
def high_blocks_without_members(draft):
    """An array of the upper bytes of blocks that has no element."""
    put_behind(draft, "members", "members_block_high", np.zeros((0, 80), "|u1"))


@attack("single block")
def block_counts_of_few_rows(draft):
    """Counts of the members in the only block; they are right."""
    starts, offset = draft.arrays["leaf_start"], draft.arrays["leaf_offset"]
    sizes = [np.diff(starts[a:b]) for a, b in itertools.pairwise(offset)]
    counts = np.concatenate(sizes).astype("<u2")[:, None]
    put_behind(draft, "members", "block_counts", counts)


@attack("number of block counts")
def block_counts_without_leaves(draft):
    """An array of counts that has no element."""
    put_behind(draft, "members", "block_counts", np.zeros((0, 1), "<u2"))


@attack("not in order")
def members_unsorted(draft):
    """Members of a leaf out of time order."""
    at = large_leaf(draft)
    members = draft.arrays["members"][0]
    members[[at, at + 1]] = members[[at + 1, at]]


@attack("two leaves|not in order")
def member_twice(draft):
    """A rank in two leaves, another in none."""
    starts = draft.arrays["leaf_start"]
    members = draft.arrays["members"][0]
    members[starts[1]] = members[0]


@attack("in no leaf")
def last_leaf_too_short(draft):
    """The last leaf of a tree ends before its last member."""
    draft.arrays["leaf_start"][draft.arrays["leaf_offset"][1] - 1] -= 1


# What the outcome is called.

set_key("outcome_labels must be an object", None, "outcome_labels")
set_key("outcome_labels must be an object", ["week", "arrest", "weeks"], "outcome_labels")
set_key("in outcome_labels 'colour' is unknown to this release", "x", "outcome_labels", "colour")
set_key("time must be a text or None", 52, "outcome_labels", "time")
set_key("event must be a text or None", ["died"], "outcome_labels", "event")
set_key("unit must be a text or None", False, "outcome_labels", "unit")
set_key("unit must have at most 200 characters", "x" * 201, "outcome_labels", "unit")
