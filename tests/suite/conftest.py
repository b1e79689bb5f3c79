"""One small suite, trained once for all tests of what can happen to it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.suite.declared import tiny
from tests.suite.trial import trained


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a store that tests may read, as undisturbed work leaves it."""
    root = tmp_path_factory.mktemp("finished")
    outcome, steps = trained(tiny(), root)
    assert outcome == (2, 0, "")
    assert [step.period for step in steps if step.what == "training"] == 2 * [1, 2, 3, 4, 5, 6]
    return root
