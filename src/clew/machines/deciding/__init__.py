"""Answers, each with its certificate. `classify` asks all questions about a POMDP, `examine` all
about one machine on it; read `spaces`, `encodes` and `perfect` first, then `pairs` and `density`.
"""
