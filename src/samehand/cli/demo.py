"""The demo: a small crawl with known truth that ships with the package, and the command that copies it out."""

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import click

from samehand.base.errors import UsageError
from samehand.base.neutral import neutral
from samehand.cli.common import say

_SHIPPED = Path(__file__).parents[1] / "data"


@dataclass(frozen=True)
class DemoFiles:
    """Where the parts of a demo crawl are."""

    crawl: Path
    nameservers: Path
    truth: Path

    @classmethod
    def inside(cls, folder: Path) -> Self:
        """The names of the parts in `folder`."""
        return cls(folder / "crawl.warc.gz", folder / "nameservers.csv", folder / "truth.csv")


def write_demo(folder: Path) -> DemoFiles:
    """Copies the demo crawl into `folder`, which is created when missing."""
    files = DemoFiles.inside(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(_SHIPPED / "demo.warc.gz", files.crawl)
        shutil.copyfile(_SHIPPED / "demo-nameservers.csv", files.nameservers)
        shutil.copyfile(_SHIPPED / "demo-truth.csv", files.truth)
    except OSError as error:
        raise UsageError(f"Cannot write to {folder}: {error.strerror}. Choose another folder.") from error
    return files


@click.command()
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
def demo(folder: Path) -> None:
    """Put a small crawl with known truth into FOLDER: crawl.warc.gz, nameservers.csv, truth.csv."""
    files = write_demo(folder)
    for path in (files.crawl, files.nameservers, files.truth):
        click.echo(neutral(str(path)))
    say(f"Now try: samehand scan {files.crawl} -o {folder / 'run'}")
