"""Fit probes: how well can an answer be decoded from a memory's state, and from its controls?

In the order of use: `dataset` splits rows by episode, `components` reduces features, `problems`
pads them to common shapes, `logistic` and `mlp` fit (`parallel` says on which cores), `auc` scores,
and `fit` does all of it.
"""

from clew.probes.fitting.dataset import Dataset
from clew.probes.fitting.fit import measure

__all__ = ["Dataset", "measure"]
