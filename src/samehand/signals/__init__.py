"""What is computed of each page while it is read: a signal is a table of the run and a stage that fills it."""

from samehand.signals.replica import ReplicaSignal
from samehand.signals.signal import Signal
from samehand.signals.style import StyleSignal

SIGNALS: dict[str, Signal] = {"style": StyleSignal(), "replica": ReplicaSignal()}
