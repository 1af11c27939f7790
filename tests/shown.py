"""Runs the commands shown in the docs. `make docs` writes what they really print; the tests hold the docs to it.

A block that starts with ```console holds `$ command` lines, each followed by its standard output. All blocks of a
document run in one folder, one after the other. A ```python block is a doctest in the same folder.
"""

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

from samehand.base.presets import PRESETS
from samehand.base.setting import GROUPS
from samehand.base.settings import Settings, fields_of
from samehand.sources.reasons import REASONS
from samehand.store.files import FILES
from samehand.store.tables import TABLES

ROOT = Path(__file__).parent.parent
DOCUMENTS = (
    "README.md",
    "docs/style.md",
    "docs/sites.md",
    "docs/language.md",
    "docs/phrases.md",
    "docs/exports.md",
    "docs/verdicts.md",
)
_BLOCK = re.compile(r"^```(console|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def refresh(text: str, folder: Path) -> str:
    """`text` with what each shown command prints now."""

    def rerun(block: re.Match[str]) -> str:
        run = _run_console if block[1] == "console" else _run_python
        return f"```{block[1]}\n{run(block[2], folder)}```"

    return _BLOCK.sub(rerun, text)


def _run_console(block: str, folder: Path) -> str:
    shown = ""
    for line in block.splitlines():
        if line.startswith("$ "):
            shown += line + "\n" + _output(line[2:], folder)
    return shown


def _output(command: str, folder: Path) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "LC_ALL": "C.UTF-8"}
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    if done.returncode:
        raise RuntimeError(f"{command} ended with {done.returncode}: {done.stderr}")
    return done.stdout


def _run_python(block: str, folder: Path) -> str:
    shown = ""
    names: dict[str, object] = {}
    before = Path.cwd()
    os.chdir(folder)
    try:
        for example in doctest.DocTestParser().get_examples(block):
            shown += _source_lines(example.source) + _evaluate(example.source, names)
    finally:
        os.chdir(before)
    return shown


def _source_lines(source: str) -> str:
    first, *rest = source.splitlines()
    return "".join(f"{line}\n" for line in (f">>> {first}", *(f"... {line}" for line in rest)))


def _evaluate(source: str, names: dict[str, object]) -> str:
    lines: list[str] = []
    hook, sys.displayhook = sys.displayhook, lambda value: lines.append(repr(value)) if value is not None else None
    try:
        exec(compile(source, "<docs>", "single"), names)
    finally:
        sys.displayhook = hook
    return "".join(f"{line}\n" for line in lines)


def settings_page() -> str:
    """docs/settings.md, made from the table of settings."""
    lines = [
        "# Settings",
        "",
        "Every setting is a field of `samehand.Settings`. Settings of providers are options of `samehand sites`, "
        "settings of labels are options of `samehand label`, all others are options of `samehand scan`: "
        "`cluster_threshold` is `--cluster-threshold`. `--help` shows the common ones, `--help-all` shows all.",
        "",
        "A file `samehand.toml` in the current folder, or any file given with `--config`, holds settings by name:",
        "",
        "```toml",
        "cluster_threshold = 0.7",
        "keep_pages = true",
        "```",
        "",
        "Options win over this file, the file wins over `--preset`, and the preset wins over the defaults.",
        "",
    ]
    for group, title in GROUPS.items():
        lines += [f"## {title}", "", "| setting | default | paper's preset | what it does |", "|---|---|---|---|"]
        for field in fields_of(group):
            paper = PRESETS["paper"].get(field.name)
            shown = "" if paper is None else f"`{round(paper, 4) if isinstance(paper, float) else paper}`"
            lines.append(
                f"| `{field.name}` | `{getattr(Settings(), field.name)}` | {shown} | {field.metadata['help']} |"
            )
        lines.append("")
    lines.append(
        "The key is given with `--key-file` or in `samehand.toml`. It is no option: other users of a "
        "machine can read the command line."
    )
    return "\n".join(lines) + "\n"


def run_folder_page() -> str:
    """docs/run-folder.md: its text, with the lists of files, tables and reasons made from the code."""
    text = (ROOT / "docs/run-folder.md").read_text()
    for name, made in {"files": _files(), "tables": _tables(), "reasons": _reasons()}.items():
        before, _, rest = text.partition(f"<!-- {name} -->\n")
        text = f"{before}<!-- {name} -->\n{made}<!-- end -->{rest.partition('<!-- end -->')[2]}"
    return text


def _files() -> str:
    places = {f"RUN/{table.path}{'/part-*.parquet' if table.in_parts else ''}": table.about for table in TABLES}
    places |= {f"RUN/{name}": about for name, about in FILES.items()}
    return "".join(f"* `{place}`: {about}\n" for place, about in sorted(places.items()))


def _tables() -> str:
    lines = []
    for table in TABLES:
        lines += [f"### {table.name}", "", table.about, "", "| column | type | meaning |", "|---|---|---|"]
        for field, column in zip(table.schema(Settings()), table.columns, strict=True):
            about = column.about.replace("|", "\\|")
            lines.append(
                f"| `{column.name}` | {_type(field.type)}{'' if column.required else ', may be null'} | {about} |"
            )
        lines.append("")
    return "\n".join(lines)


def _type(kind: object) -> str:
    return str(kind).replace(" not null", "").replace("item: ", "")


def _reasons() -> str:
    lines = ["| reason | kind | what happened | detail |", "|---|---|---|---|"]
    lines += [f"| `{reason.name}` | {reason.kind} | {reason.meaning} | {reason.detail} |" for reason in REASONS]
    return "\n".join(lines) + "\n"


def main() -> None:
    import tempfile

    for name in DOCUMENTS:
        with tempfile.TemporaryDirectory() as folder:
            path = ROOT / name
            path.write_text(refresh(path.read_text(), Path(folder)))
    (ROOT / "docs/settings.md").write_text(settings_page())
    (ROOT / "docs/run-folder.md").write_text(run_folder_page())


if __name__ == "__main__":
    main()
