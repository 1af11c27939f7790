"""What is computed of each page while it is read: a signal is a table of the run and a stage that fills it."""

from samehand.methods.language.signal import LanguageSignal
from samehand.methods.method import Signal
from samehand.methods.replica.signal import ReplicaSignal
from samehand.methods.sites.signal import StructureSignal
from samehand.methods.style.signal import StyleSignal

SIGNALS: dict[str, Signal] = {
    "style": StyleSignal(),
    "replica": ReplicaSignal(),
    "language": LanguageSignal(),
    "sites": StructureSignal(),
}
