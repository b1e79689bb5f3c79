"""What so few seeds could have shown: the minimum detectable effect."""

from __future__ import annotations

import math

import numpy as np
from scipy import special, stats

from clew.analysis.stats.task import Values

POWER = 0.8
ALPHA = 0.05


def power_of(difference: float, error: float, freedom: float, alpha: float = ALPHA) -> float:
    """Chance that a two-sided t test sees a true `difference` measured with this error."""
    edge = stats.t.ppf(1 - alpha / 2, freedom)
    shift = difference / error
    # the far tail underflows to NaN for large shifts, where it is nothing
    far = np.nan_to_num(stats.nct.cdf(-edge, freedom, shift))
    return float(stats.nct.sf(edge, freedom, shift) + far)


def detectable_difference(
    one: Values, other: Values, power: float = POWER, alpha: float = ALPHA
) -> float:
    """The smallest true difference of means that Welch's test would see with this power.

    Taken at the spread that the seeds have; 0 where neither arm has any, NaN for single seeds.
    """
    if min(len(one), len(other)) < 2:
        return math.nan
    parts = [float(np.var(v, ddof=1)) / len(v) for v in (one, other)]
    error = math.sqrt(sum(parts))
    if error == 0:
        return 0.0
    counts = (len(one) - 1, len(other) - 1)
    freedom = error**4 / sum(p**2 / k for p, k in zip(parts, counts, strict=True))
    edge = stats.t.ppf(1 - alpha / 2, freedom)
    # the chance of a significant result of the wrong sign is left out: it is below 1e-4
    return float(special.nctdtrinc(freedom, 1 - power, edge)) * error
