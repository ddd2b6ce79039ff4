"""From bins and outcomes to trees: how a tree grows, and how large its leaves are."""
