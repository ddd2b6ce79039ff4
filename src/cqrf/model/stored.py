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
from cqrf.growing.leaf_size import LeafSizePath
from cqrf.growing.options import GrowOptions, pool_size
from cqrf.growing.trees import Trees
from cqrf.model.conformal import Calibration
from cqrf.model.fitted import FittedModel
from cqrf.solving.kernel import KernelSpace, check_bandwidth
from cqrf.storage.container import read_file, refusing, require, write_file
from cqrf.storage.header import (
    OPTIONAL_SECTIONS,
    PARAMETERS,
    SECTIONS,
    check_keys,
    check_names,
    check_params,
    plain_categories,
    plain_params,
    read_encoder,
    read_labels,
    read_options,
)
from cqrf.storage.schema import SCHEMA, arrange, parts_of, read_arrays, table_of
from cqrf.support.progress import late_bar


def write_model(
    path: str | os.PathLike[str], params: dict[str, Any], model: FittedModel, verbose: int
) -> None:
    """Store a model and the estimator's parameters in one file, replaced whole or not at all."""
    header, arrays = _header(params, model), arrange(_arrays(model))
    header["arrays"] = table_of({name: array.shape for name, array in arrays.items()})
    write_file(path, header, arrays.values(), verbose)


def _header(params: dict[str, Any], model: FittedModel) -> dict[str, Any]:
    plain = plain_params(params)
    sections = {
        "params": check_params(
            {name: plain[name] for name in PARAMETERS}, has_points=model.kernel is not None
        ),
        "options": vars(model.options),
        "categories": [plain_categories(j, values) for j, values in model.encoder.categories],
        "mirrored": model.target.mirrored,
        "seed": model.trees.seed,
        "outcome_labels": vars(model.outcome_labels),
    }
    if model.feature_names is not None:
        sections["feature_names"] = list(model.feature_names)
    if model.kernel is not None:
        sections["kernel"] = {"bandwidth": model.kernel.bandwidth}
    if model.calibration is not None:
        found = model.calibration
        sections["calibration"] = {"n_rows": found.n_rows, "out_of_bag": found.out_of_bag}
    return {name: sections[name] for name in SECTIONS if name in sections}


def _arrays(model: FittedModel) -> dict[str, NDArray[Any]]:
    owners: list[tuple[str, object]] = [
        ("", model.trees),
        ("", model.target),
        ("", model.binner),
        ("kernel_", model.kernel),
        ("path_", model.leaf_size_path),
        ("calibration_", model.calibration),
    ]
    arrays = {
        prefix + name: value
        for prefix, owner in owners
        if owner is not None
        for name, value in vars(owner).items()
        if prefix + name in SCHEMA and value is not None
    }
    # Rows without weight are listed as well: a file that claims many rows must be as long.
    without = np.setdiff1d(np.arange(model.target.n_rows), model.target.order)
    arrays["order"] = np.concatenate([model.target.order, without])
    arrays["bins"] = model.bins
    return arrays


def read_model(path: str | os.PathLike[str], verbose: int) -> tuple[dict[str, Any], FittedModel]:
    """Read parameters and a model, its arrays mapped; `ModelFileError` if anything is unsound.

    The parameters are those that the file holds: the estimator's constructor adds the others.
    """
    with refusing(path):
        header, data = read_file(path, verbose)
        arrays = read_arrays(header.pop("arrays", None), data)
        check_keys(header, "the header", SECTIONS, OPTIONAL_SECTIONS)
        parts = parts_of(arrays)
        for part in ("kernel", "calibration"):
            together = (part in header) == (part in parts)
            require(together, f"{part} must be both in the header and among the arrays, or neither")
        binner = _binner(arrays)
        encoder = read_encoder(header["categories"], np.diff(binner.category_offset))
        target = _target(header["mirrored"], arrays)
        options = read_options(header["options"], target.n, encoder.n_features)
        _engine.check_bins(arrays["bins"], binner.n_bins)
        kernel = _kernel(header["kernel"], arrays, encoder) if "kernel" in header else None
        params = check_params(header["params"], has_points=kernel is not None)
        return params, FittedModel(
            options=options,
            feature_names=(
                tuple(check_names(header["feature_names"], encoder.n_features))
                if "feature_names" in header
                else None
            ),
            encoder=encoder,
            binner=binner,
            bins=arrays["bins"],
            target=target,
            trees=_trees(header["seed"], arrays, options, target, verbose),
            kernel=kernel,
            leaf_size_path=_leaf_size_path(arrays, options) if "path" in parts else None,
            calibration=(
                _calibration(header["calibration"], arrays) if "calibration" in header else None
            ),
            outcome_labels=read_labels(header.get("outcome_labels", {})),
        )


def _binner(arrays: dict[str, NDArray[Any]]) -> Binner:
    binner = Binner(**{field.name: arrays[field.name] for field in fields(Binner)})
    require(len(binner.n_bins) > 0, "there are no features")
    _ = binner.engine  # made here, because making it is checking it
    return binner


def _target(mirrored: object, arrays: dict[str, NDArray[Any]]) -> Target:
    order = arrays["order"]
    require(type(mirrored) is bool, "mirrored must be true or false")
    target = Target(
        times=arrays["times"],
        time_index=arrays["time_index"],
        event=arrays["event"],
        order=order[: len(arrays["time_index"])],
        weight=arrays.get("weight"),
        n_rows=len(order),
        mirrored=mirrored,  # type: ignore[arg-type]
    )
    _ = target.engine
    every_row = np.arange(len(order))
    require(np.array_equal(np.sort(order), every_row), "order must hold every row once")
    require(bool(target.event.any()), "there is no event")
    if target.weight is not None:
        require(bool(0.5 <= target.weight.max() < 1.0), "the largest weight must lie in [0.5, 1)")
    return target


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
    own = {field.name: arrays.get(field.name) for field in fields(Trees)}
    trees = Trees(**own | {"missing": arrays["n_bins"], "seed": seed})  # type: ignore[arg-type]
    # Kept as the cached property would keep it: checked once, with a line for those who wait.
    n_steps = len(trees.node_offset)
    with late_bar(n_steps, "checking trees", enabled=verbose > 0, seconds=0.5) as update:
        vars(trees)["engine"] = trees.check(update)
    require(len(trees) % options.group_size == 0, "the last group of trees is not complete")
    return trees


def _kernel(
    section: object, arrays: dict[str, NDArray[Any]], encoder: FeatureEncoder
) -> KernelSpace:
    (bandwidth,) = check_keys(section, "kernel", ["bandwidth"]).values()
    require(type(bandwidth) is float, f"bandwidth cannot be {bandwidth!r}")
    scale, points = arrays["kernel_scale"], arrays["kernel_points"]
    counts = encoder.n_categories
    width = int(np.maximum(counts, 1).sum())
    require(points.shape[1] == width, f"kernel_points must have {width} columns")
    require(bool((np.isfinite(scale) & (scale >= 0.0)).all()), "kernel_scale is out of range")
    require(not np.isinf(points).any(), "kernel_points must be finite or missing")
    return KernelSpace(scale, counts, check_bandwidth(bandwidth), points)


def _leaf_size_path(arrays: dict[str, NDArray[Any]], options: GrowOptions) -> LeafSizePath:
    size, loss, std_error = (arrays[f"path_{name}"] for name in ("size", "loss", "std_error"))
    ascending = len(size) > 0 and bool((size[1:] >= size[:-1]).all())
    require(ascending, "the sizes of the path must ascend")
    finite = np.isfinite(loss) & np.isfinite(std_error) & (std_error >= 0.0)
    require(bool(finite.all()), "the losses of the path must be finite")
    path = LeafSizePath(size, loss, std_error)
    require(path.best == options.min_samples_split, "the path does not lead to min_samples_split")
    return path


def _calibration(section: object, arrays: dict[str, NDArray[Any]]) -> Calibration:
    n_rows, out_of_bag = check_keys(section, "calibration", ["n_rows", "out_of_bag"]).values()
    level, below, above = (arrays[f"calibration_{name}"] for name in ("level", "below", "above"))
    require(
        type(n_rows) is int and 0 < len(level) <= n_rows and type(out_of_bag) is bool,
        "the calibration has more levels than rows",
    )
    for name, values in (("level", level), ("below", below), ("above", above[::-1])):
        # NaN fails every comparison.
        ascending = bool((values[1:] >= values[:-1]).all())
        within = bool((values >= 0.0).all() and (values <= 1.0).all())
        require(ascending and within, f"calibration_{name} is unsound")
    return Calibration(level, below, above, n_rows, out_of_bag)
