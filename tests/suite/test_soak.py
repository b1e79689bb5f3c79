"""A short soak; `python -m tests.suite.soak FOLDER MINUTES` is the long one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.suite.soak import Soak


@pytest.mark.slow
def test_two_workers_at_the_studys_size_are_killed_and_nothing_is_lost(tmp_path: Path) -> None:
    soak = Soak(tmp_path, seeds=4, periods=12, wait=(4.0, 12.0))
    told = soak.run(minutes=0)
    assert told["rounds"] == 1
    assert told["kills"] >= 1
    # a kill costs at most what was trained since the last checkpoint of one or two workers
    assert told["trained again"] <= 2 * 12 * told["kills"]
