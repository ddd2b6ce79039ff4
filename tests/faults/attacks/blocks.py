"""Attacks on the members of forests with two blocks of 2^15 ranks, told by bytes or by counts."""

import numpy as np

from attacks.draft import put_behind
from attacks.registry import attack

# Attacks on a file whose members have a block each, and on one whose leaves count them.
BLOCK_ATTACKS = {"bytes": [], "counts": []}
on_bytes, on_counts = (
    lambda reason, into=into: attack(reason, into) for into in BLOCK_ATTACKS.values()
)


def both(reason):
    """Register an attack on either form."""

    def register(change):
        return on_bytes(reason)(on_counts(reason)(change))

    return register


def two_blocks(draft):
    """Number of a leaf with members in both blocks."""
    return int(np.argmax((draft.arrays["block_counts"] > 0).all(axis=1)))


@both("a member's event")
def event_of_the_last_member(draft):
    """The bit of the event of a member of the second block."""
    draft.arrays["members"][-1, -1] ^= 2**15


@both("member out of range")
def member_beyond_the_last_row(draft):
    """A place in the second block that no row has."""
    draft.arrays["members"][-1, -1] |= 2**15 - 1


@both("number of block bytes")
def both_forms(draft):
    """A block for each member, and counts beside them."""
    blocks = np.zeros(draft.arrays["members"].shape, "|u1")
    counts = np.ones((2, 2), "<u2")
    put_behind(draft, "members", "members_block", draft.arrays.get("members_block", blocks))
    put_behind(draft, "members_block", "block_counts", draft.arrays.get("block_counts", counts))


@both("number of block bytes")
def neither_form(draft):
    """Places without blocks."""
    for name in ("members_block", "block_counts"):
        draft.arrays.pop(name, None)


@both("number of block bytes")
def high_bytes_of_few_blocks(draft):
    """A second byte for blocks that one byte tells."""
    behind = "members_block" if "members_block" in draft.arrays else "members"
    high = np.zeros(draft.arrays["members"].shape, "|u1")
    put_behind(draft, behind, "members_block_high", high)


@on_bytes("array members_block: its axis B must have 2, not 1")
def bytes_of_fewer_trees(draft):
    """Blocks of all trees but the last."""
    draft.arrays["members_block"] = draft.arrays["members_block"][:-1]


@on_bytes("array members_block: its axis r must have 33000, not 32999")
def bytes_of_fewer_members(draft):
    """Blocks of all members but the last."""
    draft.arrays["members_block"] = draft.arrays["members_block"][:, :-1]


@on_bytes("array members_block: its axis B must have 2, not 33000")
def bytes_of_another_shape(draft):
    """As many blocks as members, in another shape."""
    draft.arrays["members_block"] = draft.arrays["members_block"].reshape(-1, 2)


@on_bytes("number of block counts")
def bytes_and_counts_of_nothing(draft):
    """Counts without an element, beside the bytes."""
    put_behind(draft, "members_block", "block_counts", np.zeros((0, 2), "<u2"))


@on_bytes("member out of range")
def block_out_of_range(draft):
    """A block that no rank has."""
    draft.arrays["members_block"][0, 0] = 2


@on_bytes("member out of range")
def last_block_out_of_range(draft):
    """The largest number of a block, in the last tree."""
    draft.arrays["members_block"][-1, -1] = 255


@on_bytes("not in order|two leaves|out of range")
def member_in_another_block(draft):
    """The first member of a leaf is said to come 2^15 ranks later."""
    draft.arrays["members_block"][0, 0] = 1


@on_bytes("members_block must have dtype")
def blocks_of_two_bytes(draft):
    """Blocks as numbers of 16 bits."""
    draft.arrays["members_block"] = draft.arrays["members_block"].astype("<u2")


@on_counts("number of block counts")
def counts_of_fewer_leaves(draft):
    """Counts of all leaves but the last."""
    draft.arrays["block_counts"] = draft.arrays["block_counts"][:-1]


@on_counts("number of block counts")
def counts_of_more_leaves(draft):
    """Counts of a leaf that is not there."""
    counts = draft.arrays["block_counts"]
    draft.arrays["block_counts"] = np.concatenate([counts, counts[:1]])


@on_counts("number of blocks")
def counts_of_fewer_blocks(draft):
    """Counts of the first block alone."""
    draft.arrays["block_counts"] = draft.arrays["block_counts"][:, :1]


@on_counts("number of blocks")
def counts_of_more_blocks(draft):
    """Counts of a block beyond the last rank."""
    counts = draft.arrays["block_counts"]
    draft.arrays["block_counts"] = np.column_stack([counts, 0 * counts[:, :1]])


@on_counts("number of blocks")
def counts_transposed(draft):
    """As many counts, in another shape."""
    draft.arrays["block_counts"] = np.ascontiguousarray(draft.arrays["block_counts"].T)


@on_counts("number of block bytes|number of block counts")
def counts_of_nothing(draft):
    """Counts without an element."""
    draft.arrays["block_counts"] = draft.arrays["block_counts"][:0]


@on_counts("forest arrays: block counts")
def count_too_large(draft):
    """One member more than the leaf has."""
    draft.arrays["block_counts"][0, 0] += 1


@on_counts("forest arrays: block counts")
def count_too_small(draft):
    """One member less than the last leaf has."""
    draft.arrays["block_counts"][-1, -1] -= 1


@on_counts("forest arrays: block counts")
def counts_as_large_as_can_be(draft):
    """Unpacked, they would fill memory that is not theirs."""
    draft.arrays["block_counts"][:] = 2**16 - 1


@on_counts("forest arrays: block counts")
def counts_of_another_leaf(draft):
    """Two leaves of different sizes have changed places."""
    counts = draft.arrays["block_counts"]
    other = int(np.argmax(counts.sum(axis=1) != counts[0].sum()))
    counts[[0, other]] = counts[[other, 0]]


@on_counts("not in order|two leaves|out of range")
def count_moved_to_the_next_block(draft):
    """The sum is right, but the last member of the first block is said to be in the second."""
    counts = draft.arrays["block_counts"]
    counts[two_blocks(draft)] += np.array([-1, 1]).astype("<u2")


@on_counts("not in order|two leaves|out of range")
def count_moved_to_the_block_before(draft):
    """The sum is right, but the first member of the second block is said to be in the first."""
    counts = draft.arrays["block_counts"]
    counts[two_blocks(draft)] += np.array([1, -1]).astype("<u2")


@on_counts("block_counts must have dtype '<u2'")
def counts_of_four_bytes(draft):
    """Counts as numbers of 32 bits."""
    draft.arrays["block_counts"] = draft.arrays["block_counts"].astype("<u4")
