"""Known POMDPs in encodings of our own; whatever registers itself in this package exists."""
