"""The corpus of Debian's pages: hostile archives, the same bytes every time, going on after an interruption."""

import gzip
import io
import shutil
import subprocess
import tarfile
from collections import Counter
from pathlib import Path

import pytest
from benchmarks.corpora import debdocs
from benchmarks.corpora.debdocs import Limits, Listed, PackageError, Site
from hypothesis import given
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator

HOST = "a.example"
needs_dpkg = pytest.mark.skipif(not shutil.which("dpkg-deb"), reason="dpkg-deb is not there")


def member(name: str, **facts: object) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.mtime = 1_000_000_000
    for key, value in facts.items():
        setattr(info, key, value)
    return info


def tar_of(*members: tuple[tarfile.TarInfo, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for info, content in members:
            if info.type == tarfile.REGTYPE and not info.size:
                info.size = len(content)
            archive.addfile(info, io.BytesIO(content) if info.isreg() else None)
    return out.getvalue()


def pages(*names: str) -> list[tuple[tarfile.TarInfo, bytes]]:
    return [(member(name), f"<p>{name}".encode()) for name in names]


def write(archive: bytes, out: Path, limits: Limits | None = None) -> Site:
    return debdocs.write_site(io.BytesIO(archive), out, host=HOST, source="a_1_all.deb", limits=limits)


def records(path: Path) -> list[tuple[str, bytes]]:
    """URL and body of every response of a file."""
    with path.open("rb") as handle:
        return [
            (record.rec_headers.get_header("WARC-Target-URI"), record.content_stream().read())
            for record in ArchiveIterator(handle, check_digests="raise")
            if record.rec_type == "response"
        ]


def test_pages_become_records_in_the_order_of_their_urls(tmp_path: Path) -> None:
    out = tmp_path / "a.warc.gz"
    site = write(
        tar_of(
            *pages("./usr/share/doc/a/z.html", "./usr/share/x/b.HTM", "./usr/share/doc/a/c.xhtml"),
            *pages("./usr/share/doc/a/notes.txt", "./usr/share/doc/a/ü %.html"),
            (member("./usr/share/doc/a/old.html.gz"), gzip.compress(b"<p>old")),
        ),
        out,
    )
    assert records(out) == [
        (f"http://{HOST}/a/%C3%BC%20%25.html", "<p>./usr/share/doc/a/ü %.html".encode()),
        (f"http://{HOST}/a/c.xhtml", b"<p>./usr/share/doc/a/c.xhtml"),
        (f"http://{HOST}/a/old.html.gz", b"<p>old"),
        (f"http://{HOST}/a/z.html", b"<p>./usr/share/doc/a/z.html"),
        (f"http://{HOST}/usr/share/x/b.HTM", b"<p>./usr/share/x/b.HTM"),
    ]
    assert site == Site(5, sum(len(body) for _, body in records(out)), {})
    assert debdocs.read_site(out, HOST) == site
    assert debdocs.read_site(out, "b.example") is None


def test_hostile_members_are_left_out_and_counted(tmp_path: Path) -> None:
    kinds = (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE)
    links = [(member(f"./{number}.html", type=kind, linkname="/etc/passwd"), b"") for number, kind in enumerate(kinds)]
    archive = tar_of(
        *pages("/etc/absolute.html", "./../up.html", "./a/../../up.html", "./a//b.html"),
        *links,
        (member("./folder.html", type=tarfile.DIRTYPE), b""),
        (member("./large.html"), bytes(2000)),
        (member("./bomb.html.gz"), gzip.compress(bytes(100_000))),
        (member("./cut.html.gz"), gzip.compress(b"<p>")[:-5]),
        (member("./none.html.gz"), b"<p>not packed"),
        (member("./twice.html"), b"<p>first"),
        (member("./twice.html"), b"<p>second"),
        (member("./early.html", mtime=-5), b"<p>early"),
        (member("./late.html", mtime=1 << 60), b"<p>late"),
    )
    out = tmp_path / "a.warc.gz"
    site = write(archive, out, Limits(page_bytes=1000))
    assert site.left_out == {
        "damaged gzip": 2,
        "not a regular file": 5,
        "overwritten by a later file": 1,
        "path leads outside": 4,
        "too large": 2,
    }
    assert [body for _, body in records(out)] == [b"<p>early", b"<p>late", b"<p>second"]
    assert debdocs.read_site(out, HOST) == site
    assert list(tmp_path.iterdir()) == [out]


def claimed(size: int) -> bytes:
    """An archive whose only member says it has `size` bytes and has five."""
    return member("./a.html", size=size).tobuf(tarfile.GNU_FORMAT) + b"<p>hi".ljust(512, b"\0")


@pytest.mark.parametrize(
    "archive",
    [
        claimed(1 << 60),
        claimed(10_000),
        claimed(-512),
        b"no archive at all" * 100,
        tar_of(*pages("./a.html"))[:700],
        member("x" * 90, type=tarfile.GNUTYPE_LONGNAME, size=512).tobuf(tarfile.GNU_FORMAT) * 3000,
    ],
    ids=["huge size", "size beyond the end", "negative size", "no archive", "cut short", "names without end"],
)
def test_a_damaged_archive_is_told(archive: bytes, tmp_path: Path) -> None:
    with pytest.raises(PackageError, match="damaged archive"):
        write(archive, tmp_path / "a.warc.gz")


def test_an_archive_may_not_grow_without_end(tmp_path: Path) -> None:
    archive = tar_of(*pages("./a.html"), (member("./filler"), bytes(50_000)), *pages("./b.html"))
    with pytest.raises(PackageError, match="too large"):
        write(archive, tmp_path / "a.warc.gz", Limits(archive_bytes=20_000))
    with pytest.raises(PackageError, match="too many files"):
        write(archive, tmp_path / "a.warc.gz", Limits(members=2))


@given(st.binary(max_size=64), st.integers(0, 511), st.integers(0, 3))
def test_any_change_of_an_archive_is_survived(noise: bytes, place: int, block: int) -> None:
    archive = bytearray(tar_of(*pages("./a.html", "./b.html")))
    start = block * 512 + place
    archive[start : start + len(noise)] = noise
    left_out: Counter[str] = Counter()
    try:
        found = list(debdocs.documents_of(io.BytesIO(bytes(archive)), left_out, Limits()))
    except PackageError:
        return
    assert len(found) + left_out.total() <= 2


def test_the_same_archive_gives_the_same_bytes(tmp_path: Path) -> None:
    names = [f"./usr/share/doc/a/{number}.html" for number in range(30)]
    for out, order in (("one", names), ("two", names), ("other order", names[::-1])):
        write(tar_of(*pages(*order)), tmp_path / out)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other order").read_bytes()


def test_hosts_are_one_label_of_plain_letters() -> None:
    assert debdocs.host_of("libsigc++-2.0-doc") == "libsigcpp-2-0-doc.example"
    assert debdocs.host_of("abs-guide") == "abs-guide.example"


def write_list(path: Path, *packages: str) -> Path:
    rows = "".join(f"{package}\tdoxygen\t2\t0\t0\t{package}\n" for package in packages)
    path.write_text(f"package\tgenerator\tpages\thtml_bytes\tdeb_bytes\tsource\n{rows}")
    return path


def test_the_list_is_checked_and_a_short_choice_is_part_of_a_long_one(tmp_path: Path) -> None:
    names = [f"package-{number}" for number in range(50)]
    listed = debdocs.read_list(write_list(tmp_path / "list", *names))
    assert listed == debdocs.read_list(write_list(tmp_path / "list", *names[::-1]))
    assert sorted(row.package for row in listed) == sorted(names)
    for wrong in (("--option",), ("../up",), ("a.b", "a-b")):
        with pytest.raises(debdocs.InputError):
            debdocs.read_list(write_list(tmp_path / "list", *wrong))
    (tmp_path / "list").write_text("something\nelse\n")
    for path in (tmp_path / "list", tmp_path / "nowhere"):
        with pytest.raises(debdocs.InputError):
            debdocs.read_list(path)


FAKE_APT = """#!/bin/sh
# apt-get download: all the packages or none of them
echo "$@" >> {folder}/calls
while [ "$1" != download ]; do shift; done
shift
for package in "$@"; do [ -f {folder}/${{package}}_1_all.deb ] || exit 100; done
for package in "$@"; do cp {folder}/${{package}}_1_all.deb .; done
"""


def make_deb(folder: Path, package: str) -> None:
    tree = folder / package
    pages_folder = tree / "usr/share/doc" / package
    pages_folder.mkdir(parents=True)
    for name in ("index.html", "second.html"):
        (pages_folder / name).write_text(f"<p>{package} {name}")
    (pages_folder / "link.html").symlink_to("/etc/passwd")
    (tree / "DEBIAN").mkdir()
    (tree / "DEBIAN/control").write_text(
        f"Package: {package}\nVersion: 1\nArchitecture: all\nMaintainer: a <a@a.example>\nDescription: a\n"
    )
    (tree / "DEBIAN/postinst").write_text(f"#!/bin/sh\ntouch {folder}/was-run\n")
    (tree / "DEBIAN/postinst").chmod(0o755)
    command = ["dpkg-deb", "--root-owner-group", "-Zgzip", "--build", tree, folder / f"{package}_1_all.deb"]
    subprocess.run(command, check=True, capture_output=True)


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two packages and a damaged one, and an apt-get that knows only them."""
    folder = tmp_path / "shop"
    folder.mkdir()
    for package in ("aa", "bb++"):
        make_deb(folder, package)
    whole = (folder / "aa_1_all.deb").read_bytes()
    (folder / "cut_1_all.deb").write_bytes(whole[: len(whole) - 200])
    (folder / "bin").mkdir()
    (folder / "bin/apt-get").write_text(FAKE_APT.format(folder=folder))
    (folder / "bin/apt-get").chmod(0o755)
    (folder / "x_Packages").touch()
    monkeypatch.setenv("PATH", f"{folder / 'bin'}:/usr/bin:/bin")
    monkeypatch.setattr(debdocs, "_APT_LISTS", folder)
    return folder


@needs_dpkg
def test_the_whole_way_from_packages_to_files_and_back_again(
    shop: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    listing = write_list(tmp_path / "list", "aa", "bb++", "cut", "gone")
    arguments = [str(tmp_path / "out"), "--list", str(listing)]
    debdocs.main(arguments)
    said = capsys.readouterr().out
    assert "failed: cut: damaged archive" in said
    assert "failed: gone: not downloadable" in said
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["aa.warc.gz", "bb++.warc.gz", "labels.tsv"]
    assert (tmp_path / "out/labels.tsv").read_text().splitlines() == [
        "url_host_name\tpackage\tgenerator",
        "aa.example\taa\tdoxygen",
        "bbpp.example\tbb++\tdoxygen",
    ]
    assert records(tmp_path / "out/bb++.warc.gz") == [
        ("http://bbpp.example/bb++/index.html", b"<p>bb++ index.html"),
        ("http://bbpp.example/bb++/second.html", b"<p>bb++ second.html"),
    ]
    assert not (shop / "was-run").exists()
    before = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}

    # A second run goes on: it takes no notice of what is there and makes what is missing, the same as before.
    (tmp_path / "out/aa.warc.gz").unlink()
    (tmp_path / "out/.aa.warc.gz.partial").write_bytes(b"half a file")
    (shop / "calls").unlink()
    debdocs.main(arguments)
    again = capsys.readouterr().out
    assert "1 of 4 packages are there already" in again
    assert again[again.index("packages done") :] == said[said.index("packages done") :]
    assert "bb++" not in (shop / "calls").read_text()
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == before


@needs_dpkg
def test_kept_packages_are_left(shop: Path, tmp_path: Path) -> None:
    packages = [Listed("aa", "", 2)]
    debdocs.build(packages, tmp_path / "out", keep=tmp_path / "kept")
    assert [path.name for path in (tmp_path / "kept").iterdir()] == ["aa_1_all.deb"]
    assert [url for url, _ in records(tmp_path / "out/aa.warc.gz")] == [
        "http://aa.example/aa/index.html",
        "http://aa.example/aa/second.html",
    ]


def test_without_apt_the_next_step_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    listing = write_list(tmp_path / "list", "aa")
    with pytest.raises(SystemExit, match=r"apt-get is not there\. Run this on Debian"):
        debdocs.main([str(tmp_path / "out"), "--list", str(listing)])


def test_packages_unlike_the_list_are_named() -> None:
    outcomes = [debdocs.Outcome(Listed("aa", "", 2), Site(5, 10, {"too large": 1}))]
    said = debdocs.closing_table(outcomes)
    assert "unlike the list: aa +3" in said
    assert "left out: too large" in said
