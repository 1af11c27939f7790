"""Everything samehand raises on purpose.

    SamehandError
    ├── UsageError        what was asked for cannot be done as asked         exit code 2
    │   └── SettingsError a setting has a value it cannot have
    ├── InputError        there is nothing readable in the inputs            exit code 4
    └── RunError          the run folder is in the way                       exit code 2
        ├── RunBusyError    another process is writing to it
        ├── RunMismatchError  it belongs to other inputs or other settings
        └── RunWriteError   it cannot be written: disk full, no permission

A message says what happened and ends with the next step. A page that cannot be read raises none of these: it ends
as a counted reject (`samehand.base.page.Reject`) and the run goes on.
"""


class SamehandError(Exception):
    """Base of every error samehand raises on purpose."""

    exit_code = 2


class UsageError(SamehandError):
    """What was asked for cannot be done as asked."""


class SettingsError(UsageError):
    """A setting has a value it cannot have."""


class InputError(SamehandError):
    """There is nothing readable in the inputs."""

    exit_code = 4


class RunError(SamehandError):
    """The run folder is in the way of what was asked for."""


class RunBusyError(RunError):
    """Another process is writing to the run folder."""


class RunMismatchError(RunError):
    """The run folder belongs to other inputs or other settings."""


class RunWriteError(RunError):
    """The run folder cannot be written: the disk is full, or permission is missing."""
