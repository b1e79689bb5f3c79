"""When to stop: times in words, limits that hold, signals that ask."""

from __future__ import annotations

import contextlib
import os
import signal
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.suite import Stop, seconds_of
from clew.validate import BadInput


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("90s", 90), ("25m", 1500), ("1.5h", 5400), ("1h30m", 5400), ("2d", 172800),
     ("0", 0), ("0.5s", 0.5), ("1h1m1s", 3661)],
)  # fmt: skip
def test_times_in_words(text: str, seconds: float) -> None:
    assert seconds_of(text) == seconds


@pytest.mark.parametrize(
    "text", ["", "m", "5 m", "-5m", "5x", "1e3", "1:30", "soon", "5m3", "5m\n"]
)
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(BadInput, match=r"time_limit=.*25m"):
        seconds_of(text)


@given(st.tuples(*[st.integers(0, 99)] * 4))
def test_times_add_up(parts: tuple[int, ...]) -> None:
    days, hours, minutes, seconds = parts
    expected = 86400 * days + 3600 * hours + 60 * minutes + seconds
    assert seconds_of(f"{days}d{hours}h{minutes}m{seconds}s") == expected


@given(st.text(max_size=8))
def test_any_text_is_a_time_or_a_sentence(text: str) -> None:
    with contextlib.suppress(BadInput):
        assert seconds_of(text) >= 0


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_without_a_limit_there_is_no_reason() -> None:
    stop = Stop()
    assert not stop.after(1e9)
    assert stop.reason == ""


def test_a_limit_is_reached() -> None:
    clock = Clock()
    stop = Stop(10, clock)
    assert stop.reason == ""
    assert not stop.after(9)
    clock.now = 110
    assert "time limit" in stop.reason
    assert stop.after(0)


def test_who_stops_early_for_the_limit_begins_nothing_else() -> None:
    clock = Clock()
    stop = Stop(10, clock)
    clock.now = 105
    assert stop.after(6)
    assert "time limit" in stop.reason


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGUSR1"])
def test_a_signal_asks(name: str) -> None:
    number = getattr(signal, name)
    before = signal.getsignal(number)
    with Stop() as stop:
        os.kill(os.getpid(), number)
        assert stop.reason == f"{name} was received"
        if name != "SIGINT":
            os.kill(os.getpid(), number)  # asking again is asking
    assert signal.getsignal(number) is before


def test_a_second_interrupt_interrupts() -> None:
    before = signal.getsignal(signal.SIGINT)
    with Stop():
        os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def test_a_second_interrupt_does_what_it_is_told_to() -> None:
    told: list[str] = []
    with Stop(again=lambda: told.append("again")):
        os.kill(os.getpid(), signal.SIGINT)
        assert not told
        os.kill(os.getpid(), signal.SIGINT)
    assert told == ["again"]


def test_signals_are_for_the_main_thread() -> None:
    reasons: list[str] = []

    def elsewhere() -> None:
        with Stop(0) as stop:
            reasons.append(stop.reason)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert "time limit" in reasons[0]
