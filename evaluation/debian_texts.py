"""Natural text of more genres, from packages of Debian: python -m evaluation.debian_texts FOLDER fetches them.

All of it is free: essays, manuals, a dictionary of computing, the stories of games, quotations, descriptions of
packages, licences. Packages are unpacked, not installed. The texts are evaluation only; what is learned from them
(weights, counts) ships with the package.
"""

import gzip
import lzma
import re
import subprocess
import sys
import tarfile
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from io import BytesIO
from pathlib import Path

from evaluation.language_corpora import Document, prose_of_plain
from samehand.html import prose_text
from samehand.sources.http.charset import as_utf8

MANUALS = (
    *("abs-guide", "debian-faq", "debian-handbook", "debian-history", "debian-reference-en", "developers-reference"),
    *("gimp-help-en", "harden-doc", "maint-guide", "mh-book"),
)
CAMPAIGNS = ("wesnoth-1.16-did", "wesnoth-1.16-ei", "wesnoth-1.16-httt")
PACKAGES = (*MANUALS, *CAMPAIGNS, "anarchism", "dict-foldoc", "endless-sky-data", "fortunes", "jargon-text")
_NOTICES = """adduser alpine alsa-ucm-conf apache2-data apt apt-listchanges apt-utils base-files base-passwd bash
bash-completion bind9-host bison bluez bsdutils bzip2 ca-certificates clamav-base cmake-data coreutils cpio cron
cups-common curl dash dbus debconf debian-archive-keyring debianutils diffutils dmidecode doc-debian dpkg
e2fsprogs elinks-data exim4-base ffmpeg file findutils flex fonts-dejavu-core fonts-liberation gawk gcc-12-base
gettext-base git-man gnupg gnuplot-data gpgv graphviz grep groff-base gzip hdf5-helpers hostname ifupdown
imagemagick-6-common inetutils-telnet init-system-helpers iproute2 iputils-ping irssi isc-dhcp-common kmod
krb5-locales less libaom3 libc-bin libcairo2 libcurl4 libffi8 libfreetype6 libgs-common libjpeg62-turbo
libpam-runtime libpng16-16 libqt5core5a libtiff6 libvpx7 libwebp7 libx11-data libxml2 licenseutils lilypond-data
links login logrotate lsof lua5.4 lynx-common m4 man-db manpages mariadb-common mawk media-types mesa-common-dev
mutt mysql-common nano ncurses-base netbase netcat-traditional nftables nginx-common ntpsec ocaml-base
openssh-client openssl openvpn pciutils perl-base php-common postgresql-common procps pulseaudio-utils
python3-reportbug python3.11-minimal readline-common rsync samba-common sed sensible-utils snmp spamassassin
sqlite3 subversion sudo swig sysvinit-utils tar tasksel-data tcpdump tex-common texinfo tmux traceroute twm
tzdata ucf util-linux vim-common vlc-data wamerican wget whiptail x11-common xfonts-utils xterm xz-utils zlib1g"""
LICENCES = ("libsoftware-license-perl", "ruby-licensee", *_NOTICES.split())
"""Two packages that hold the texts of licences, and packages whose notices of copyright are read."""
DESCRIPTIONS = "Translation-en.xz"
_DESCRIPTIONS_URL = f"http://deb.debian.org/debian/dists/bookworm/main/i18n/{DESCRIPTIONS}"
_TOGETHER = 8
"""Entries of a glossary, or descriptions, that make one document: as many as a page shows."""
_FOREIGN = re.compile(r"/(?!en)[a-z]{2}(-[A-Z]{2})?/|\.(?!en)[a-z]{2}(-[a-z]{2})?\.html$")
_SAID = re.compile(r'(?:message|story|description|help_text|text|note)\s*=\s*_\s*"((?:[^"]|"")+)"')
_LICENCE = re.compile(r"/doc/[^/]+/copyright$|/common-licenses/|/_licenses/|/Software/License/")
_LICENCE_BEGINS = re.compile(rb"\n(?:---|__LICENSE__)\n")
"""What stands before is about the licence, or code."""
_ENTRY = re.compile(r"\n(?=\S)")


def fetch(folder: Path) -> None:
    """Downloads the packages into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["apt-get", "download", *PACKAGES, *LICENCES], cwd=folder, check=True)
    with urllib.request.urlopen(_DESCRIPTIONS_URL) as answer:
        (folder / DESCRIPTIONS).write_bytes(answer.read())


def _files(folder: Path, package: str, ending: str) -> Iterator[tuple[str, bytes]]:
    """Name and content of the files of a package."""
    (path,) = folder.glob(f"{package}_*.deb")
    packed = subprocess.run(["dpkg-deb", "--fsys-tarfile", path], capture_output=True, check=True).stdout
    with tarfile.open(fileobj=BytesIO(packed)) as tar:
        for member in tar:
            if member.isfile() and member.name.endswith(ending) and (handle := tar.extractfile(member)):
                yield member.name, handle.read()


def _pages(folder: Path, package: str) -> Iterator[Document]:
    """The prose of the English pages of a package, a chapter a document."""
    for name, page in sorted(_files(folder, package, ".html")):
        if not _FOREIGN.search(name):
            yield Document(f"{package}/{name.rpartition('/')[2]}", prose_text(as_utf8(page, None)).encode())


def essays(folder: Path) -> list[Document]:
    """The chapters of a book of political essays."""
    return list(_pages(folder, "anarchism"))


def manuals(folder: Path) -> list[Document]:
    """Handbooks and guides."""
    return [document for package in MANUALS for document in _pages(folder, package)]


def glossary(folder: Path) -> list[Document]:
    """Entries of a dictionary of computing and of one of its slang, several a document."""
    ((_, packed),) = _files(folder, "dict-foldoc", ".dict.dz")
    (slang,) = (raw for name, raw in _files(folder, "jargon-text", "jargon.txt.gz"))
    entries = [
        entry for raw in (packed, slang) for entry in _ENTRY.split(gzip.decompress(raw).decode("utf-8", "replace"))
    ]
    return _joined("glossary", [re.sub(r"[{}]", "", entry) for entry in entries])


def descriptions(folder: Path) -> list[Document]:
    """Descriptions of packages, several a document: what a page of blurbs looks like."""
    with lzma.open(folder / DESCRIPTIONS, "rt", encoding="utf-8") as file:
        entries = [entry.partition("Description-en: ")[2] for entry in file.read().split("\n\n")]
    bodies = [entry.partition("\n")[2].replace("\n .\n", "\n\n").replace("\n ", "\n") for entry in entries]
    different = dict.fromkeys(body.split("\n\n")[0] for body in bodies)
    return _joined("descriptions", list(different))


def stories(folder: Path) -> list[Document]:
    """The stories and conversations of a game, a scene a document."""
    found = []
    for name, raw in sorted(_files(folder, "endless-sky-data", ".txt")):
        scenes = re.split(r"\n(?=\S)", raw.decode("utf-8", "replace"))
        texts = ["\n\n".join(re.findall(r"`\s*([^`<>]+)`", re.sub(r"<\w+>", "Alder", scene))) for scene in scenes]
        found += [Document(name.rpartition("/")[2], text.encode()) for text in texts if len(text) > 800]
    return found


def licences(folder: Path) -> list[Document]:
    """Licences, and the notices of copyright of packages; each text once."""
    files = [
        (f"{package}{name}", _LICENCE_BEGINS.split(raw)[-1])
        for package in sorted(LICENCES)
        for name, raw in sorted(_files(folder, package, ""))
        if _LICENCE.search(name)
    ]
    prose = prose_of_plain(raw for _, raw in files)
    once = {text: name for (name, _), text in zip(files, prose, strict=True)}
    return [Document(name, text) for text, name in once.items()]


def campaigns(folder: Path) -> list[Document]:
    """What the figures of another game say to each other, a scenario a document."""
    found = []
    for package in CAMPAIGNS:
        for name, raw in sorted(_files(folder, package, ".cfg")):
            said = [part.replace('""', '"') for part in _SAID.findall(raw.decode("utf-8", "replace"))]
            text = "\n\n".join(re.sub(r"<[^>]+>", "", part) for part in said)
            if len(text) > 800:
                found.append(Document(f"{package}/{name.rpartition('/')[2]}", text.encode()))
    prose = prose_of_plain(document.text for document in found)
    return [document._replace(text=text) for document, text in zip(found, prose, strict=True)]


def quotes(folder: Path) -> list[Document]:
    """Jokes, sayings and quotations, several a document; no drawings."""
    found = []
    for name, raw in sorted(_files(folder, "fortunes", "")):
        kind = name.rpartition("/games/fortunes/")[2]
        if kind != name and "." not in kind and kind not in ("ascii-art", "translate-me"):
            entries = raw.decode("utf-8", "replace").split("\n%\n")
            found += _joined(kind, [entry for entry in entries if entry.strip()])
    return found


def _joined(genre: str, entries: Sequence[str]) -> list[Document]:
    """Every few entries as one document."""
    texts = ["\n\n".join(entries[place : place + _TOGETHER]) for place in range(0, len(entries), _TOGETHER)]
    prose = prose_of_plain(text.encode() for text in texts)
    return [Document(f"{genre} {place}", text) for place, text in enumerate(prose)]


GENRES: dict[str, Callable[[Path], list[Document]]] = {
    "manuals": manuals,
    "glossary": glossary,
    "descriptions": descriptions,
    "stories": stories,
    "essays": essays,
    "campaigns": campaigns,
    "quotes": quotes,
}

if __name__ == "__main__":
    fetch(Path(sys.argv[1]))
