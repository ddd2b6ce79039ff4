"""A fitted forest as the header and the arrays of a model file, and back, every value checked."""

from __future__ import annotations

import os
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cqrf import _engine
from cqrf.data.binning import Binner
from cqrf.data.features import FeatureEncoder
from cqrf.data.outcome import Target
from cqrf.growing.grow import GrowOptions, pool_size
from cqrf.growing.leaf_size import LeafSizePath
from cqrf.growing.trees import Members, Trees
from cqrf.model.conformal import Calibration
from cqrf.model.fitted import FittedModel
from cqrf.solving.kernel import KernelSpace, check_bandwidth
from cqrf.storage.container import Schema, read_file, refusing, require, write_file
from cqrf.storage.header import (
    PARAMETERS,
    check_params,
    plain_categories,
    plain_params,
    read_encoder,
    read_labels,
    read_options,
    upgrade,
)
from cqrf.support.progress import late_bar

# The arrays of a file in their order. A line may be added only with a new version of the format.
SCHEMA: Schema = {
    "nodes": ("<u4", 2),
    "node_offset": ("<i8", 1),
    "subsets": ("<u8", 2),
    "subset_offset": ("<i8", 1),
    "leaf_start": ("<u4", 1),
    "leaf_offset": ("<i8", 1),
    "members": ("<u2", 2),
    "members_block": ("|u1", 2),
    "members_block_high": ("|u1", 2),
    "block_counts": ("<u2", 2),
    "times": ("<f8", 1),
    "time_index": ("<u4", 1),
    "event": ("|u1", 1),
    "order": ("<i8", 1),
    "weight": ("<f8", 1),
    "cuts": ("<f8", 1),
    "cut_offset": ("<i8", 1),
    "category_bins": ("|u1", 1),
    "category_offset": ("<i8", 1),
    "n_bins": ("|u1", 1),
    "bins": ("|u1", 2),
    "kernel_scale": ("<f8", 1),
    "kernel_points": ("<f8", 2),
    "path_size": ("<i8", 1),
    "path_loss": ("<f8", 1),
    "path_std_error": ("<f8", 1),
    "calibration_level": ("<f8", 1),
    "calibration_below": ("<f8", 1),
    "calibration_above": ("<f8", 1),
}
_BLOCKS = ("members_block", "members_block_high", "block_counts")
_WEIGHT = ("weight",)
_KERNEL = ("kernel_scale", "kernel_points")
_PATH = ("path_size", "path_loss", "path_std_error")
_CALIBRATION = ("calibration_level", "calibration_below", "calibration_above")

_HEADER_KEYS = (
    "params",
    "options",
    "feature_names",
    "categories",
    "mirrored",
    "seed",
    "bandwidth",
    "calibration",
    "outcome_labels",
)


def write_model(
    path: str | os.PathLike[str], given: dict[str, Any], model: FittedModel, verbose: int
) -> None:
    """Store parameters and model in one file, which is replaced whole or not at all."""
    params = plain_params(given)
    check_params(params, has_points=model.kernel is not None)
    header = {
        "params": {name: params[name] for name in PARAMETERS},
        "options": vars(model.options),
        "feature_names": None if model.feature_names is None else list(model.feature_names),
        "categories": [plain_categories(j, values) for j, values in model.encoder.categories],
        "mirrored": model.target.mirrored,
        "seed": model.trees.seed,
        "bandwidth": None if model.kernel is None else model.kernel.bandwidth,
        "calibration": None,
        "outcome_labels": vars(model.outcome_labels),
    }
    owners: list[Any] = [model.trees, model.target, model.binner]
    arrays = {
        name: vars(owner)[name]
        for owner in owners
        for name in SCHEMA
        if vars(owner).get(name) is not None
    }
    arrays["bins"] = model.bins
    # Rows without weight are listed as well: a file that claims many rows must be as long.
    without = np.setdiff1d(np.arange(model.target.n_rows), model.target.order)
    arrays["order"] = np.concatenate([model.target.order, without])
    if model.kernel is not None:
        arrays |= zip(_KERNEL, (model.kernel.scale, model.kernel.points), strict=True)
    if model.leaf_size_path is not None:
        path_found = model.leaf_size_path
        arrays |= zip(_PATH, (path_found.size, path_found.loss, path_found.std_error), strict=True)
    if model.calibration is not None:
        found = model.calibration
        header["calibration"] = {"n_rows": found.n_rows, "out_of_bag": found.out_of_bag}
        arrays |= zip(_CALIBRATION, (found.level, found.below, found.above), strict=True)
    write_file(path, header, arrays, SCHEMA, verbose)


def read_model(path: str | os.PathLike[str], verbose: int) -> tuple[dict[str, Any], FittedModel]:
    """Read parameters and a model, its arrays mapped; `ModelFileError` if anything is unsound."""
    with refusing(path):
        version, header, arrays = read_file(path, _schema, verbose)
        upgrade(header, version)
        require(tuple(header) == _HEADER_KEYS, f"the header must have the keys {_HEADER_KEYS}")
        for name in SCHEMA:
            optional = name in (*_BLOCKS, *_WEIGHT, *_KERNEL, *_PATH, *_CALIBRATION)
            require(optional or name in arrays, f"array {name} is missing")
        binner = _binner(arrays)
        encoder = read_encoder(header["categories"], np.diff(binner.category_offset))
        target = _target(header, arrays)
        n, p = target.n, encoder.n_features
        options = read_options(header["options"], n, p)
        require(arrays["bins"].shape == (n, p), "bins does not have a row for every rank")
        _engine.check_bins(arrays["bins"], binner.n_bins)
        kernel = _kernel(header["bandwidth"], arrays, encoder, n)
        check_params(header["params"], has_points=kernel is not None)
        names = header["feature_names"]
        require(
            names is None
            or (type(names) is list and len(names) == p and all(type(x) is str for x in names)),
            "feature_names must be one text for every feature",
        )
        params = {name: header["params"][name] for name in PARAMETERS}
        return params, FittedModel(
            options=options,
            feature_names=None if names is None else tuple(names),
            encoder=encoder,
            binner=binner,
            bins=arrays["bins"],
            target=target,
            trees=_trees(header["seed"], arrays, options, target, verbose),
            kernel=kernel,
            leaf_size_path=_leaf_size_path(arrays, options),
            calibration=_calibration(header["calibration"], arrays),
            outcome_labels=read_labels(header["outcome_labels"]),
        )


def _binner(arrays: dict[str, NDArray[Any]]) -> Binner:
    binner = Binner(**{field.name: arrays[field.name] for field in fields(Binner)})
    require(len(binner.n_bins) > 0, "there are no features")
    _ = binner.engine  # made here, because making it is checking it
    return binner


def _target(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Target:
    mirrored, order = header["mirrored"], arrays["order"]
    require(type(mirrored) is bool, "mirrored must be true or false")
    target = Target(
        times=arrays["times"],
        time_index=arrays["time_index"],
        event=arrays["event"],
        order=order[: len(arrays["time_index"])],
        weight=arrays.get("weight"),
        n_rows=len(order),
        mirrored=mirrored,
    )
    _ = target.engine
    every_row = np.arange(len(order))
    require(np.array_equal(np.sort(order), every_row), "order must hold every row once")
    require(bool(target.event.any()), "there is no event")
    if target.weight is not None:
        require(bool(0.5 <= target.weight.max() < 1.0), "the largest weight must lie in [0.5, 1)")
    return target


def _schema(version: int) -> Schema:
    if version >= 3:
        return SCHEMA
    # Ranks had four bytes.
    before = {name: entry for name, entry in SCHEMA.items() if name not in _BLOCKS}
    return before | {"members": ("<u4", 2)}


def _members(arrays: dict[str, NDArray[Any]], event: NDArray[np.uint8]) -> Members:
    members = arrays["members"]
    if members.dtype == np.uint32:
        require(members.max(initial=0) < len(event), "member out of range")
        return Members.of(members, event)
    return Members(members, *(arrays.get(name) for name in _BLOCKS))


def _trees(
    seed: object,
    arrays: dict[str, NDArray[Any]],
    options: GrowOptions,
    target: Target,
    verbose: int,
) -> Trees:
    require(type(seed) is int and 0 <= seed < 2**63, "seed is out of range")
    room = pool_size(target.n, options.group_size)
    if options.honest:
        room = options.n_draws - options.n_draws // 2
    require(arrays["members"].shape[1] == room, f"members must have {room} columns")
    trees = Trees(
        nodes=arrays["nodes"],
        node_offset=arrays["node_offset"],
        subsets=arrays["subsets"],
        subset_offset=arrays["subset_offset"],
        leaf_start=arrays["leaf_start"],
        leaf_offset=arrays["leaf_offset"],
        **vars(_members(arrays, target.event)),
        event=target.event,
        missing=arrays["n_bins"],
        seed=seed,  # type: ignore[arg-type]
    )
    # Kept as the cached property would keep it: checked once, with a line for those who wait.
    n_steps = len(trees.node_offset)
    with late_bar(n_steps, "checking trees", enabled=verbose > 0, seconds=0.5) as update:
        vars(trees)["engine"] = trees.check(update)
    require(len(trees) % options.group_size == 0, "the last group of trees is not complete")
    return trees


def _kernel(
    bandwidth: object, arrays: dict[str, NDArray[Any]], encoder: FeatureEncoder, n: int
) -> KernelSpace | None:
    for name in _KERNEL:
        require((name in arrays) == (bandwidth is not None), f"{name} does not go with bandwidth")
    if bandwidth is None:
        return None
    require(type(bandwidth) is float, f"bandwidth cannot be {bandwidth!r}")
    scale, points = (arrays[name] for name in _KERNEL)
    counts = encoder.n_categories
    width = int(np.maximum(counts, 1).sum())
    require(scale.shape == counts.shape, "kernel_scale must have one entry per feature")
    require(points.shape == (n, width), f"kernel_points must have the shape {(n, width)}")
    require(bool((np.isfinite(scale) & (scale >= 0.0)).all()), "kernel_scale is out of range")
    require(not np.isinf(points).any(), "kernel_points must be finite or missing")
    return KernelSpace(scale, counts, check_bandwidth(bandwidth), points)


def _leaf_size_path(arrays: dict[str, NDArray[Any]], options: GrowOptions) -> LeafSizePath | None:
    present = [name for name in _PATH if name in arrays]
    require(len(present) in (0, len(_PATH)), "the path of leaf sizes is not complete")
    if not present:
        return None
    size, loss, std_error = (arrays[name] for name in _PATH)
    require(
        0 < len(size) == len(loss) == len(std_error) and bool((size[1:] >= size[:-1]).all()),
        "the sizes of the path must ascend, and have a loss each",
    )
    finite = np.isfinite(loss) & np.isfinite(std_error) & (std_error >= 0.0)
    require(bool(finite.all()), "the losses of the path must be finite")
    path = LeafSizePath(size, loss, std_error)
    require(path.best == options.min_samples_split, "the path does not lead to min_samples_split")
    return path


def _calibration(header: object, arrays: dict[str, NDArray[Any]]) -> Calibration | None:
    for name in _CALIBRATION:
        present = (name in arrays) == (header is not None)
        require(present, f"{name} does not go with the calibration of the header")
    if header is None:
        return None
    require(
        isinstance(header, dict) and tuple(header) == ("n_rows", "out_of_bag"),
        "a calibration must have n_rows and out_of_bag",
    )
    assert isinstance(header, dict)
    n_rows, out_of_bag = header.values()
    level, below, above = (arrays[name] for name in _CALIBRATION)
    require(
        type(n_rows) is int and 0 < len(level) <= n_rows and type(out_of_bag) is bool,
        "the calibration has more levels than rows",
    )
    require(len(level) == len(below) == len(above), "a calibration needs three arrays of a length")
    for name, values in (("level", level), ("below", below), ("above", above[::-1])):
        # NaN fails every comparison.
        ascending = bool((values[1:] >= values[:-1]).all())
        within = bool((values >= 0.0).all() and (values <= 1.0).all())
        require(ascending and within, f"calibration_{name} is unsound")
    return Calibration(level, below, above, n_rows, out_of_bag)
