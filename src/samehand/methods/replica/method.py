"""The replica method: near replicas by I-Match with randomised lexicons, as a method of a run."""

from pathlib import Path
from typing import ClassVar

from samehand.base.files import copy_whole, file_digest
from samehand.base.settings import Settings
from samehand.base.wording import count
from samehand.methods.method import Counts, Method, OnGroupProgress, Stage
from samehand.store.files import LEXICON
from samehand.store.folder import RunFolder
from samehand.store.tables import REPLICA_GROUPS, REPLICA_MEMBERS, REPLICA_SHARES, REPLICA_SIGNATURES

SHIPPED_LEXICON = Path(__file__).parents[2] / "data" / "english.lexicon"
"""Words of general English, made by evaluation/english_lexicon.py: enough to begin with."""


READING = "2"
"""Changes with how documents are read: rows of another reading are made anew."""


class ReplicaMethod(Method):
    """Documents with nearly the same words."""

    name = "replica"
    about = "near replicas: documents with nearly the same words (I-Match)"
    changeable = ("replica",)
    command = "replicas"
    page_table = REPLICA_SIGNATURES
    tables = (REPLICA_MEMBERS, REPLICA_GROUPS, REPLICA_SHARES)
    counted: ClassVar = {
        "groups": int,
        "grouped_documents": int,
        "sharing_documents": int,
        "statuses": {str: int},
        "markup_capped": int,
        "leader_cap_hits": int,
    }
    profiles = ("web", "mail")

    def prepare(self, folder: RunFolder, settings: Settings) -> None:
        """Copies the lexicon into the run folder, so that the run needs no other file from then on."""
        from samehand.methods.replica.lexicon import Lexicon

        source, target = Path(settings.lexicon_path or SHIPPED_LEXICON), folder.path / LEXICON
        if not source.is_file() and target.is_file():
            return  # the file it was copied from is gone
        Lexicon.load(source)  # refuses a file that is no lexicon before anything is replaced
        if file_digest(source) != file_digest(target):
            copy_whole(source, target)

    def page_source(self, folder: RunFolder, settings: Settings) -> str:
        """The settings of markup and replicas, and the lexicon."""
        return settings.digest("markup", "replica") + file_digest(folder.path / LEXICON) + READING

    def stage(self, folder: RunFolder, settings: Settings) -> Stage:
        """Signatures."""
        from samehand.methods.replica.stage import ReplicaStage

        return ReplicaStage(folder, settings)

    def group_source(self, folder: RunFolder, settings: Settings) -> str:
        """The settings of replicas and grouping."""
        return settings.digest("replica", "grouping")

    def group(self, folder: RunFolder, settings: Settings, *, threads: int, on_progress: OnGroupProgress) -> Counts:
        """Groups documents whose signatures agree and whose words are nearly the same."""
        from samehand.methods.replica.summary import group_replicas

        return group_replicas(folder, settings, threads=threads)

    def status(self, counts: Counts) -> list[str]:
        """Groups, and what became of the documents."""
        statuses = ", ".join(f"{number:,} {status}" for status, number in counts["statuses"].items()) or "no documents"
        groups, documents = count(counts["groups"], "group"), count(counts["grouped_documents"], "near replica")
        lines = [f"{groups} of {documents}; {statuses}"]
        if counts["sharing_documents"]:
            lines.append(
                f"{count(counts['sharing_documents'], 'document')} share text with another one (replicas --shares)"
            )
        if counts["markup_capped"]:
            lines.append(f"{counts['markup_capped']:,} pages hit a limit of the markup pass (--max-tokens and others)")
        if counts["leader_cap_hits"]:
            lines.append(f"{counts['leader_cap_hits']:,} times a document exceeded --max-leaders")
        return lines


METHOD = ReplicaMethod()
