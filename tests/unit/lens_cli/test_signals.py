"""Which signals stop a command, and which it leaves ignored."""

import signal

import pytest

from lens_cli.signals import StopRequest, interruptible
from tests.dispositions import default_signals, ignored_signals

ALL = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


@pytest.mark.parametrize("number", ALL)
def test_first_stop_signal_interrupts_and_the_next_is_ignored(number: signal.Signals) -> None:
    def run() -> None:
        try:
            signal.raise_signal(number)
        finally:
            for other in ALL:
                signal.raise_signal(other)

    with default_signals(), pytest.raises(KeyboardInterrupt), interruptible():
        run()


@pytest.mark.parametrize("number", ALL)
def test_first_stop_signal_is_a_request_and_the_second_interrupts(number: signal.Signals) -> None:
    request, calls = StopRequest(), list[bool]()
    with default_signals(), request.listening(lambda: calls.append(True)):
        signal.raise_signal(number)
        assert (request.is_made, calls) == (True, [True])
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(number)


def test_signals_ignored_at_the_start_stay_ignored_and_sigterm_stops() -> None:
    with ignored_signals(), interruptible():
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGHUP)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)


def test_handlers_from_before_are_put_back() -> None:
    with default_signals():
        before = [signal.getsignal(number) for number in ALL]
        with interruptible():
            pass
        assert [signal.getsignal(number) for number in ALL] == before
