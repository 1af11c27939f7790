"""What is computed of each page while it is read: a signal is a table of the run and a stage that fills it."""

from samehand.signals.language import LanguageSignal
from samehand.signals.replica import ReplicaSignal
from samehand.signals.signal import Signal
from samehand.signals.structure import StructureSignal
from samehand.signals.style import StyleSignal

SIGNALS: dict[str, Signal] = {
    "style": StyleSignal(),
    "replica": ReplicaSignal(),
    "language": LanguageSignal(),
    "structure": StructureSignal(),
}
