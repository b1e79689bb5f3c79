"""What must hold for every registered bonus."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from clew import bonuses
from clew.bonuses import Bonus
from clew.testing import BONUS_LAWS
from clew.validate import BadInput
from tests.bonuses.rollouts import fresh, observations_of, score, wander

SMALL: dict[str, Any] = {"hidden": 8, "features": 4}

every = pytest.mark.parametrize("name", bonuses.names())


def test_names() -> None:
    assert bonuses.names() == ("counts", "e3b", "icm", "none", "noveld", "ride", "rnd")


def test_an_unknown_name_lists_the_names() -> None:
    with pytest.raises(BadInput, match="unknown bonus 'novelty'") as error:
        bonuses.make("novelty")
    assert all(repr(name) in str(error.value) for name in bonuses.names())


@every
def test_an_unknown_option_lists_the_options(name: str) -> None:
    with pytest.raises(BadInput, match=f"unknown option of {name} 'klip'") as error:
        bonuses.make(name, klip=1.0)
    options = [field.name for field in dataclasses.fields(bonuses.make(name))]
    assert all(repr(option) in str(error.value) for option in options)
    assert "did you mean 'clip'?" in str(error.value)


def small(name: str) -> Bonus:
    options = {field.name for field in dataclasses.fields(bonuses.make(name))}
    return bonuses.make(name, **{name: SMALL[name] for name in options & SMALL.keys()})


@every
@pytest.mark.parametrize("law", BONUS_LAWS, ids=lambda law: law.__name__)
def test_law(name: str, law: Callable[[Bonus], None]) -> None:
    law(small(name))


@every
def test_all_but_none_pay_something(name: str) -> None:
    observations = observations_of("TinyReproduce")
    seen = wander(np.random.default_rng(0), observations, 12, 3, 0.2)
    _, scores = score(small(name), observations, fresh(small(name), observations, 3), seen)
    assert np.asarray(scores).any() == (name != "none")
