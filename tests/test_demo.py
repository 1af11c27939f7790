"""The command that copies the demo crawl out of the package."""

from collections.abc import Callable
from pathlib import Path

from samehand.cli.demo import DemoFiles, write_demo

Command = Callable[..., "tuple[int, str, str]"]


def test_the_command_writes_three_files_and_names_the_next_step(tmp_path: Path, samehand_command: Command) -> None:
    folder = tmp_path / "new" / "demo"
    ended = samehand_command("demo", folder)
    files = DemoFiles.inside(folder)
    assert (ended.code, ended.out.split()) == (0, [str(files.crawl), str(files.nameservers), str(files.truth)])
    assert ended.err == f"Now try: samehand scan {files.crawl} -o {folder / 'run'}\n"
    assert sorted(path.name for path in folder.iterdir()) == ["crawl.warc.gz", "nameservers.csv", "truth.csv"]


def test_a_second_time_restores_the_files(tmp_path: Path) -> None:
    files = write_demo(tmp_path)
    whole = files.crawl.read_bytes()
    files.crawl.write_bytes(whole[:1000])
    assert write_demo(tmp_path) == files
    assert files.crawl.read_bytes() == whole


def test_a_folder_that_cannot_be_made_is_one_sentence(tmp_path: Path, samehand_command: Command) -> None:
    (tmp_path / "file").write_text("")
    ended = samehand_command("demo", tmp_path / "file" / "demo")
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert "Choose another folder" in ended.err
