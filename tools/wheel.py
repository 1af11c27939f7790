"""Builds a wheel that brings the machine code of all kernels along: python -m tools.wheel [DIST].

A pure wheel is built and unpacked. The demo crawl is scanned with what was unpacked, for a processor that every machine
of the last ten years can stand in for. Numba leaves the code beside the sources. Then the wheel is packed again, for
this version of Python and this system. Where the code does not fit (another numba, an older processor), kernels are
compiled at the first scan, as without it.
"""

import os
import re
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from pathlib import Path

from samehand.kernels import PORTABLE_CPU, runs_portable_code


def main() -> None:
    """Builds the wheel."""
    if not runs_portable_code():
        sys.exit(f"The machine code is made for {PORTABLE_CPU}, and this machine cannot run that. Use `pip wheel .`.")
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "dist")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        _python("-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), ".")
        unpacked = folder / "unpacked"
        with zipfile.ZipFile(next(folder.glob("*.whl"))) as pure:
            pure.extractall(unpacked)
        _compile_into(unpacked, folder)
        _mark_as_compiled(next(unpacked.glob("*.dist-info/WHEEL")))
        target.mkdir(exist_ok=True)
        _python("-m", "wheel", "pack", str(unpacked), "--dest-dir", str(target))


def _compile_into(unpacked: Path, folder: Path) -> None:
    """Scans the demo crawl twice, the second time as pages that are added."""
    crawl, run = folder / "demo" / "crawl.warc.gz", str(folder / "run")
    for arguments in (["demo", str(crawl.parent)], ["scan", str(crawl), "-o", run], ["add", run, str(crawl)]):
        _python("-m", "samehand.cli.start", "-q", *arguments, within=unpacked)


def _mark_as_compiled(wheel: Path) -> None:
    """Names the Python and the system that the code is for."""
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    system = re.sub(r"\W", "_", sysconfig.get_platform())
    text = re.sub(r"^Root-Is-Purelib: .*$", "Root-Is-Purelib: false", wheel.read_text(), flags=re.MULTILINE)
    wheel.write_text(re.sub(r"^Tag: .*$", f"Tag: {python}-{python}-{system}", text, flags=re.MULTILINE))


def _python(*arguments: str, within: Path | None = None) -> None:
    environment = dict(os.environ)
    if within is not None:
        environment |= {"PYTHONPATH": str(within), "PYTHONDONTWRITEBYTECODE": "1"}
        environment |= {"NUMBA_CPU_NAME": PORTABLE_CPU, "NUMBA_CPU_FEATURES": ""}
        environment.pop("NUMBA_CACHE_DIR", None)
    subprocess.run([sys.executable, *arguments], env=environment, check=True)


if __name__ == "__main__":
    main()
