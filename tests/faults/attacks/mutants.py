"""Random changes that keep the structure of a model file, and a valid checksum."""

import numpy as np

from attacks.draft import put_behind

NUMBERS = [-1, 0, 1, 2, 3, 7, 79, 80, 81, 255, 256, 2**31 - 1, 2**31, 2**32, 2**63, 0.0, 0.5, 1.0]
VALUES = [*NUMBERS, None, True, False, "", "x", "knn", "mse", "left", "lower", [], [0.5], {}, "red"]


def mutate(draft, rng):
    """Change one to three things of a draft, in place."""
    for _ in range(rng.integers(1, 4)):
        kind = rng.choice([_element, _two_elements, _length, _header, _table, _blocks], p=_WEIGHTS)
        kind(draft, rng)


def _pick(rng, values):
    return values[rng.integers(len(values))]


def _array(draft, rng):
    """A random array that is not empty, flat."""
    names = [name for name, array in draft.arrays.items() if array.size]
    array = draft.arrays[_pick(rng, names)]
    return array.reshape(-1)


def _element(draft, rng):
    """One element: another bit, another element, a neighbour, an extreme."""
    array = _array(draft, rng)
    at = rng.integers(array.size)
    kind = rng.integers(4)
    if kind == 0:
        raw = array[at : at + 1].view(np.uint8)
        raw[rng.integers(len(raw))] ^= np.uint8(1 << rng.integers(8))
    elif kind == 1:
        array[at] = array[rng.integers(array.size)]
    elif kind == 2:
        with np.errstate(over="ignore"):
            array[at] += array.dtype.type(1) if rng.integers(2) else -array.dtype.type(1)
    elif array.dtype.kind == "f":
        array[at] = _pick(rng, [0.0, -0.0, 1e-320, 1e308, -1e308, np.nan, np.inf, -np.inf])
    else:
        limits = np.iinfo(array.dtype)
        array[at] = _pick(rng, [0, 1, limits.max, limits.min, limits.max // 2])


def _two_elements(draft, rng):
    """Two elements change places."""
    array = _array(draft, rng)
    i, j = rng.integers(array.size, size=2)
    array[[i, j]] = array[[j, i]]


def _length(draft, rng):
    """An array is longer or shorter, or gone."""
    name = _pick(rng, list(draft.arrays))
    array = draft.arrays[name]
    kind = rng.integers(4)
    if kind == 0:
        del draft.arrays[name]
    elif kind == 1:
        draft.arrays[name] = array[: rng.integers(len(array) + 1)]
    elif kind == 2 and len(array):
        draft.arrays[name] = np.concatenate([array, array[-1:]])
    elif array.ndim == 2:
        draft.arrays[name] = np.ascontiguousarray(array[:, : rng.integers(array.shape[1] + 1)])


def _header(draft, rng):
    """One value of the header, at any depth."""
    place, key = draft.header, _pick(rng, list(draft.header))
    while isinstance(place[key], dict | list) and place[key] and rng.random() < 0.9:
        place = place[key]
        key = _pick(rng, list(place)) if isinstance(place, dict) else int(rng.integers(len(place)))
    old = place[key]
    if isinstance(place, dict) and rng.random() < 0.05:
        del place[key]
    elif type(old) in (int, float) and rng.random() < 0.3:
        place[key] = old + _pick(rng, [-1, 1])
    else:
        place[key] = _pick(rng, VALUES)


def _table(draft, rng):
    """One value of the table of arrays."""
    if draft.table is None:
        draft.table = draft.right_table()
    entry = draft.table[rng.integers(len(draft.table))]
    key = _pick(rng, list(entry))
    if key == "shape" and entry[key]:
        entry[key] = list(entry[key])
        entry[key][rng.integers(len(entry[key]))] = _pick(rng, NUMBERS)
    else:
        entry[key] = _pick(rng, VALUES)


def _blocks(draft, rng):
    """The blocks of the members in another form, a little wrong or superfluous."""
    if not all(name in draft.arrays for name in ("members", "leaf_start", "leaf_offset")):
        return
    leaves = max(0, len(draft.arrays["leaf_start"]) - len(draft.arrays["leaf_offset"]) + 1)
    kind = _pick(rng, ["members_block", "members_block_high", "block_counts"])
    if kind == "block_counts":
        blocks = int(rng.integers(4))
        array = rng.integers(0, 80, (leaves, blocks)).astype("<u2")
    else:
        array = rng.integers(0, 2, draft.arrays["members"].shape).astype("|u1")
    if kind in draft.arrays and rng.integers(2):
        array = np.zeros_like(draft.arrays[kind])
    if rng.integers(2):
        for name in ("members_block", "members_block_high", "block_counts"):
            draft.arrays.pop(name, None)
    before = [
        name
        for name in ("members", "members_block", "members_block_high")
        if name in draft.arrays and name != kind
    ]
    if kind == "members_block":
        before = before[:1]
    put_behind(draft, before[-1], kind, array)


_WEIGHTS = [0.48, 0.1, 0.1, 0.24, 0.05, 0.03]
