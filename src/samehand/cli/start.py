"""Starts the command line such that an interrupt or a lack of memory ends it with one sentence, at any moment.

The signals are set up before anything that is slow to import. The first SIGINT or SIGTERM raises KeyboardInterrupt, so
that files are closed and workers are ended. The process ends at once if a second signal comes, if a library swallowed
the exception, or if a kernel still runs after GRACE_SECONDS. Nothing is lost then: what is half written is known by its
name, and the next run does it again.
"""

import atexit
import contextlib
import os
import resource
import signal
import sys
import threading
from types import FrameType
from typing import NoReturn

READS_ANSWERS = frozenset(
    [
        "status",
        "clusters",
        "show",
        "spread",
        "verdicts",
        "explain",
        "export",
        "report",
        "sites",
        "replicas",
        "phrases",
        "fake",
    ]
)
"""Commands that read answers. Some compute them first where the run has none."""
INTERRUPTED = 130
GRACE_SECONDS = 3.0
SENTENCE = "Interrupted. Run the same command again to go on."
NO_MEMORY = "Error: There is not enough memory. Allow more, or use fewer --workers, then run the same command again."
_LEAST_ADDRESSES = 2_400_000_000
"""Bytes of addresses (`ulimit -v`) that the libraries reserve. With fewer, Arrow waits forever or ends the process."""
TOO_FEW_ADDRESSES = (
    f"Error: The libraries reserve more addresses than `ulimit -v` allows here. Allow {_LEAST_ADDRESSES // 1000:,} KB, "
    "then run the same command again."
)
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_MEMORY_WORDS = (
    *("failed to map segment", "annot allocate memory", "can't start new thread"),
    "Resource temporarily unavailable",
)
"""What libraries say that could not be loaded, and threads that could not be started, for lack of memory."""


class Interrupts:
    """What SIGINT and SIGTERM do. While `is_ending`, they end the process at once: nobody would catch an exception."""

    def __init__(self) -> None:
        self.is_ending = True
        self.came = False
        for number in _SIGNALS:
            signal.signal(number, self._interrupt)
        atexit.register(_ignore_signals)  # the first one registered is the last one called
        sys.unraisablehook = self._swallowed
        threading.Thread(target=_end_late, args=(_signal_bytes(),), daemon=True).start()

    def _interrupt(self, _number: int, _frame: FrameType | None) -> None:
        if self.is_ending or self.came:
            end_at_once()
        self.came = True
        raise KeyboardInterrupt

    def _swallowed(self, error: "sys.UnraisableHookArgs", /) -> None:
        """Python prints exceptions that it cannot pass on, and goes on. An interrupt must not be lost that way."""
        if issubclass(error.exc_type, KeyboardInterrupt):
            end_at_once()
        sys.__unraisablehook__(error)


def _ignore_signals() -> None:
    """The answer is complete. While Python takes itself down, a signal would end it by the signal, without a word."""
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def _signal_bytes() -> int:
    """A descriptor from which a thread can read each signal, even while a kernel keeps Python from handling it."""
    source, target = os.pipe()
    os.set_blocking(target, False)
    signal.set_wakeup_fd(target, warn_on_full_buffer=False)
    return source


def _end_late(source: int) -> None:
    while os.read(source, 1) not in [bytes([number]) for number in _SIGNALS]:
        pass
    threading.Event().wait(GRACE_SECONDS)
    end_at_once()


def end_at_once() -> NoReturn:
    """Ends the process without any clean-up."""
    os.write(2, f"{SENTENCE}\n".encode())
    os._exit(INTERRUPTED)


def has_too_few_addresses() -> bool:
    """Whether a limit is set that the libraries cannot live with."""
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return limit != resource.RLIM_INFINITY and limit < _LEAST_ADDRESSES


def is_out_of_memory(error: BaseException | None) -> bool:
    """Whether a lack of memory is at the bottom of an error."""
    while error is not None:
        if isinstance(error, MemoryError) or any(words in str(error) for words in _MEMORY_WORDS):
            return True
        error = error.__cause__ or error.__context__
    return False


class _NoPandas:
    """An import of pandas fails.

    Pyarrow imports pandas, where it is installed, for the first column that it converts. That takes longer than most
    answers, and no command that reads answers needs it, but for Spark.
    """

    @staticmethod
    def find_spec(name: str, _path: object = None, _target: object = None) -> None:
        """Asked for every module that is imported."""
        if name == "pandas":
            raise ModuleNotFoundError(name)


def main() -> NoReturn:
    """Entry point of the command `samehand`."""
    if READS_ANSWERS.intersection(sys.argv[1:2]) and "spark" not in " ".join(sys.argv):
        sys.meta_path.insert(0, _NoPandas)
    if has_too_few_addresses() and not {"--help", "--version"}.intersection(sys.argv):
        sys.exit(_fail(TOO_FEW_ADDRESSES))
    # OpenBLAS would start a thread for each core, with memory of its own, and hangs where it gets none.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    interrupts = Interrupts()
    try:
        try:
            interrupts.is_ending = False
            from samehand.cli.main import main as run

            run()
        finally:
            interrupts.is_ending = True
    except SystemExit as end:
        if not interrupts.came:
            raise
        # Python ends itself by SIGINT after an interrupt inside exec(), even if the exception was caught.
        with contextlib.suppress(OSError):
            sys.stdout.flush()
        os._exit(end.code if isinstance(end.code, int) else INTERRUPTED)
    except BaseException as error:
        # Native modules turn an interrupt of their import into errors of their own.
        if interrupts.came:
            end_at_once()
        if not is_out_of_memory(error):
            raise
        os._exit(_fail(NO_MEMORY))


def _fail(sentence: str) -> int:
    os.write(2, f"{sentence}\n".encode())
    return 2


if __name__ == "__main__":
    main()
