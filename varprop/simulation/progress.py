"""A progress bar for people who wait at a terminal, and nothing for anybody else."""

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

PATIENCE = 1.0
"""Seconds of work before a bar appears."""


class Reporter:
    """Draws a bar on stderr if that is a terminal and the work takes over a second.

    with Reporter("measuring", total=2000, wanted=None) as reporter:
        reporter.advance(100)
    """

    def __init__(self, label: str, total: int, wanted: bool | None) -> None:
        self._label = label
        self._total = total
        self._done = 0
        self._visible = wanted is not False and sys.stderr is not None and sys.stderr.isatty()
        self._start = time.monotonic()
        self._bar: Progress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> "Reporter":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def advance(self, steps: int) -> None:
        """Report that `steps` more are done."""
        self._done += steps
        if not self._visible or time.monotonic() - self._start < PATIENCE:
            return
        if self._bar is None or self._task is None:
            from rich.console import Console
            from rich.progress import Progress

            self._bar = Progress(console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task(self._label, total=self._total)
            self._bar.start()
        self._bar.update(self._task, completed=self._done)
