"""What the outside asks of a run by signals: SIGUSR1 to save, SIGTERM to save and stop.

A handler only sets a flag, which the run reads between steps; a signal that comes twice, as batch
systems send them, asks once. Before the first step, while the model is sampled and kernels are
compiled, nothing is lost that would have to be saved: there SIGTERM ends the run at once.
"""

from __future__ import annotations

import signal
from types import FrameType

from seismo.errors import StoppedError


class _StopNow(BaseException):
    """The run ends here; no `except Exception` on the way takes it for an error."""


class Signals:
    """Flags that signals set while it is open; use as a context manager.

    Attributes:
        save: a checkpoint is asked for; whoever writes it takes the flag back.
        stop: the run shall stop at a checkpoint.
        stepping: whether steps are being taken, and it has to wait for one.
    """

    def __init__(self) -> None:
        self.save = self.stop = self.stepping = False

    def __enter__(self) -> Signals:
        """Listen instead of those who did before."""
        self._before = {
            number: signal.signal(number, self._receive)
            for number in (signal.SIGUSR1, signal.SIGTERM)
        }
        return self

    def __exit__(self, kind: type[BaseException] | None, *exception: object) -> None:
        """Let those listen again who did before.

        Raises:
            StoppedError: the run was asked to stop before its first step.
        """
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if kind is _StopNow:
            raise StoppedError(
                "stopped before the first step, asked to by SIGTERM; go on with the same command"
            ) from None

    def _receive(self, number: int, frame: FrameType | None) -> None:
        if number == signal.SIGUSR1:
            self.save = True
        elif not self.stop:
            self.stop = True
            if not self.stepping:
                raise _StopNow
