"""Kills, interrupts and starves commands: `python -m fuzz.faults [--tries 40] [--only scan] [FAULT ...]` in tests.

After each fault the same command is run again to its end. The run folder must then be equal, byte for byte, to one that
was never disturbed, with nothing half written in it. A command that fails must say so in one sentence, and leave no
process behind.
"""

import argparse
import dataclasses
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from crawls import small_crawl, write_warc
from fuzz.parsers import scratch
from runs import tables

SAMEHAND = (sys.executable, "-m", "samehand.cli.start", "-q")
WORKERS = ("--workers", "2")
SPLIT = ("--split-bytes", "60000")
LONGEST = 900.0  # the first command compiles the kernels


@dataclasses.dataclass(frozen=True)
class Ended:
    """How a command ended, what it said on standard error, and whether processes of it are left."""

    code: int
    said: str
    orphans: bool = False

    @property
    def is_one_sentence(self) -> bool:
        """Whether it says one thing, and that is no traceback."""
        return len(self.said.strip().splitlines()) == 1 and "Traceback" not in self.said


@dataclasses.dataclass(frozen=True)
class Job:
    """A command that writes to a run folder, and the run folder it starts from."""

    arguments: tuple[str, ...]
    start: Path | None

    def on(self, folder: Path) -> list[str]:
        """The command line for this run folder."""
        return [*SAMEHAND, *(part.replace("RUN", str(folder)) for part in self.arguments)]

    def fresh(self, folder: Path) -> Path:
        """The folder as it is before the command."""
        shutil.rmtree(folder, ignore_errors=True)
        if self.start is not None:
            shutil.copytree(self.start, folder)
        return folder


def run(command: Sequence[str], *, shell: str = "") -> Ended:
    """Runs a command to its end, behind shell commands that limit it."""
    line = ["bash", "-c", f'{shell}; exec "$@"', "bash", *command] if shell else list(command)
    done = subprocess.run(line, capture_output=True, text=True, errors="replace", check=False, timeout=LONGEST)
    return Ended(done.returncode, done.stderr)


def jobs() -> dict[str, Job]:
    """scan, add, and each method on a run that has only style."""
    folder = scratch()
    first = write_warc(folder / "first.warc", small_crawl(1))
    second = write_warc(folder / "second.warc", small_crawl(2))
    scan = ("scan", str(first), "-o", "RUN", *SPLIT, *WORKERS)
    base = folder / "base"
    whole = Job(scan, None)
    run(whole.on(folder / "warm"))  # compiles the kernels, so that the faults meet work and not numba
    run(Job((*scan, "--signals", "style"), None).on(base))
    made = {"scan": whole, "add": Job(("add", "RUN", str(second), *WORKERS), base)}
    for command in ("replicas", "fake", "phrases", "sites"):
        made[command] = Job((command, "RUN", *WORKERS), base)
    return made


def has_started(process: "subprocess.Popen[str]") -> bool:
    """Whether the command line of samehand handles SIGTERM already, and not Python's own start."""
    try:
        lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    except OSError:
        return True
    caught = next((line.split()[1] for line in lines if line.startswith("SigCgt")), "0")
    return bool(int(caught, 16) >> (signal.SIGTERM - 1) & 1)


def disturbed(command: Sequence[str], delay: float, number: int, *, whole_group: bool) -> Ended:
    """Runs a command and sends it a signal after a while: to it alone, or to all its processes as a terminal does."""
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True
    )
    while not has_started(process) and process.poll() is None:
        time.sleep(0.001)
    time.sleep(delay)
    if process.poll() is None:
        (os.killpg if whole_group else os.kill)(process.pid, number)
    said = process.communicate(timeout=LONGEST)[1]
    until = time.monotonic() + 10  # a worker that was still loading notices a moment later that its engine is gone
    while members_of(process.pid) and time.monotonic() < until:
        time.sleep(0.05)
    return Ended(process.returncode, said, bool(members_of(process.pid)))


def members_of(group: int) -> list[str]:
    """The processes of a group that are not dead."""
    found = []
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = place.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[2]) == group and fields[0] != "Z":
            found.append(place.parent.name)
    return found


class Campaign:
    """Undisturbed runs to compare with, and counts of what held."""

    def __init__(self, seed: int, only: Sequence[str]) -> None:
        self.draw = random.Random(seed)
        self.jobs = {name: job for name, job in jobs().items() if not only or name in only}
        self.folder = scratch() / "run"
        self.right: dict[str, dict[str, bytes]] = {}
        self.seconds: dict[str, float] = {}
        self.counts: Counter[str] = Counter()
        for name, job in self.jobs.items():
            began = time.monotonic()
            ended = run(job.on(job.fresh(self.folder)))
            self.seconds[name] = time.monotonic() - began
            if ended.code:
                raise RuntimeError(f"{name} does not work undisturbed: {ended}")
            self.right[name] = tables(self.folder)

    def check(self, name: str, fault: str, ended: Ended, *, holds: bool) -> None:
        """Runs the job again and notes whether everything is as it should be."""
        # To add once more what was added is another command: it compares with other clusters.
        again = ended if ended.code == 0 else run(self.jobs[name].on(self.folder))
        same = tables(self.folder) == self.right[name] and not list(self.folder.rglob("*.writing"))
        held = holds and not ended.orphans and again.code == 0 and same
        self.counts["held" if held else "FAILED"] += 1
        said = "held" if held else f"FAILED: {ended}, then {again}, equal: {same}"
        sys.stdout.write(f"{fault} of {name}, code {ended.code}: {said}\n")
        sys.stdout.flush()

    def kills(self, tries: int) -> None:
        """kill -9 at random moments."""
        for name, job in self.jobs.items():
            for _ in range(tries):
                delay = self.draw.uniform(0, self.seconds[name])
                ended = disturbed(job.on(job.fresh(self.folder)), delay, signal.SIGKILL, whole_group=False)
                self.counts["ended before"] += ended.code == 0
                self.check(name, "kill", ended, holds=ended.code in (0, -signal.SIGKILL))

    def signals(self, tries: int) -> None:
        """SIGINT and SIGTERM at random moments, start-up included."""
        for name, job in self.jobs.items():
            for turn in range(tries):
                number = (signal.SIGINT, signal.SIGTERM)[turn % 2]
                delay = self.draw.uniform(0, self.seconds[name]) * self.draw.choice((0.1, 1))
                command = job.on(job.fresh(self.folder))
                ended = disturbed(command, delay, number, whole_group=number == signal.SIGINT and turn % 4 == 0)
                self.counts["ended before"] += ended.code == 0
                holds = ended.code == 0 or (ended.code == 130 and ended.is_one_sentence)
                self.check(name, number.name, ended, holds=holds)

    def full_disk(self, tries: int) -> None:
        """No file may be longer than a few blocks: the write that meets the limit fails, wherever it is."""
        for name, job in self.jobs.items():
            for turn in range(tries):
                blocks = 1 + turn if turn < 3 else self.draw.randrange(1, 120)
                command = job.on(job.fresh(self.folder))
                ended = run(command, shell=f"ulimit -f {blocks}")
                holds = ended.code == 0 or (ended.code == 2 and ended.is_one_sentence and "Cannot write" in ended.said)
                self.counts["wrote all"] += ended.code == 0
                self.check(name, f"ulimit -f {blocks}", ended, holds=holds)

    def read_only(self, _tries: int) -> None:
        """A folder that must not be written to. Root may write everywhere, so a file stands in the way."""
        for name, job in self.jobs.items():
            job.fresh(self.folder)
            self.folder.mkdir(exist_ok=True)
            for place in ("lock",):
                shutil.rmtree(self.folder / place, ignore_errors=True)
                (self.folder / place).unlink(missing_ok=True)
                (self.folder / place).mkdir()
            ended = run(job.on(self.folder))
            (self.folder / "lock").rmdir()
            self.check(name, "no lock", ended, holds=ended.code == 2 and ended.is_one_sentence)

    def memory(self, tries: int) -> None:
        """`ulimit -v`: one sentence, or a run that ends."""
        for turn in range(tries):
            kilobytes = 60_000 + turn * 4_000_000 // tries
            name, job = next(iter(self.jobs.items()))
            ended = run(job.on(job.fresh(self.folder)), shell=f"ulimit -v {kilobytes}")
            holds = ended.code in (0, 3) or (ended.code == 2 and ended.is_one_sentence)
            self.check(name, f"ulimit -v {kilobytes}", ended, holds=holds)

    def two_writers(self, _tries: int) -> None:
        """Of two commands on one run folder one does its work. The other says that it is busy, or comes later."""
        for name, job in self.jobs.items():
            command = job.on(job.fresh(self.folder))
            with ThreadPoolExecutor(2) as pool:
                first, other = sorted(pool.map(run, [command, command]), key=lambda ended: ended.code)
            is_busy = other.code == 2 and other.is_one_sentence and "Another" in other.said
            self.check(name, "two writers", first, holds=first.code == 0 and (other.code == 0 or is_busy))

    def changed_inputs(self, _tries: int) -> None:
        """Inputs that change or vanish between runs are named."""
        job = self.jobs["scan"]
        path = Path(self.jobs["scan"].arguments[1])
        whole = path.read_bytes()
        for change in ("changed", "gone"):
            run(job.on(job.fresh(self.folder)))
            path.write_bytes(whole[:-100] + b"x" * 100) if change == "changed" else path.unlink()
            ended = run([*SAMEHAND, "replicas", str(self.folder), "-K", "3"])
            path.write_bytes(whole)
            self.check("scan", change, ended, holds=ended.code in (2, 4) and path.name in ended.said)


FAULTS: dict[str, Callable[[Campaign, int], None]] = {
    "kills": Campaign.kills,
    "signals": Campaign.signals,
    "full-disk": Campaign.full_disk,
    "read-only": Campaign.read_only,
    "memory": Campaign.memory,
    "two-writers": Campaign.two_writers,
    "changed-inputs": Campaign.changed_inputs,
}


def main() -> None:
    """Runs the faults one after the other, and says how often everything held."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tries", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", action="append", default=[], help="A command to disturb; all if none is named.")
    parser.add_argument("faults", nargs="*", default=list(FAULTS))
    options = parser.parse_args()
    failed = 0
    campaign = Campaign(options.seed, options.only)
    for name in options.faults:
        campaign.counts.clear()
        FAULTS[name](campaign, options.tries)
        failed += campaign.counts["FAILED"]
        sys.stdout.write(f"{name}: {dict(campaign.counts)}\n")
        sys.stdout.flush()
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
