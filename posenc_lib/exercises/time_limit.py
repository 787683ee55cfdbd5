"""A time limit for code that a learner wrote."""

import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

__all__ = ["TookTooLong", "call_within"]

AGAIN = 0.1  # seconds until code that swallowed the interruption is interrupted again


class TookTooLong(BaseException):
    """No Exception, so that an `except Exception` in the code it stops lets it pass."""


def call_within(seconds: float, function: Callable[..., Any], *arguments: Any) -> Any:
    """What the function returns, or TookTooLong.

    The limit holds on the main thread where the system has timers; elsewhere (another thread, Windows) there is none.
    It strikes between two steps of Python: a single call into compiled code runs to its end first.
    """
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        return function(*arguments)
    running, interruptions, here, tracer = True, 0, sys._getframe(), sys.gettrace()

    def interrupt(_: int, frame: FrameType | None) -> None:
        nonlocal interruptions
        if not running:
            return
        interruptions += 1
        if interruptions > 1:
            # A bare `except` swallowed the last one. Raise here and again some lines on, further each time: one of
            # them lies in the except clause, or past it, where nothing catches.
            lines_to_pass = interruptions - 2

            def raise_again(_: FrameType, event: str, __: Any) -> Callable[..., Any]:
                nonlocal lines_to_pass
                if event == "line":
                    if lines_to_pass == 0:
                        raise TookTooLong
                    lines_to_pass -= 1
                return raise_again

            sys.settrace(lambda *_: None)  # frames to come are left alone: among them are those that clean up
            while frame is not None and frame is not here:
                frame.f_trace = raise_again
                frame = frame.f_back
        raise TookTooLong

    outer = (0.0, 0.0)
    handler = signal.signal(signal.SIGALRM, interrupt)
    try:
        try:
            outer = signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN)
            # In a generator, for that has an exception state of its own: an exception raised between two lines of an
            # except clause leaves behind that it is being handled, and every later traceback would show it.
            return next(function(*arguments) for _ in (0,))
        finally:
            running = False
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, *outer)  # of whoever had one running; it starts again
        sys.settrace(tracer)
