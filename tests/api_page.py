"""docs/api.md, made from the docstrings of the public names. `make docs` writes it, a test holds the page to them.

A docstring is plain sentences, followed by sections: Args, Attributes, Returns, Raises, Example. Examples are doctests.
"""

import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import samehand
from samehand.base import errors
from samehand.methods.phrases.skeleton import Skeleton
from samehand.methods.replica.signatures import SharedWords
from samehand.methods.style.answers import WeakestLink
from samehand.methods.style.compare import SharedRun
from samehand.methods.style.gaps import Gap

PAGE = Path(__file__).parent.parent / "docs/api.md"
FUNCTIONS = (samehand.scan, samehand.open_run, samehand.add, samehand.compare)
RESULTS = (
    samehand.Result,
    samehand.Likeness,
    samehand.Comparison,
    samehand.Explanation,
    samehand.SiteAnswers,
)
PARTS = (Gap, SharedRun, SharedWords, Skeleton, WeakestLink)
"""Parts of answers. They come with an answer and have no name of their own in samehand."""
ENGINES = (samehand.LocalEngine, samehand.SparkEngine, samehand.Progress)
PRIVATE = {
    samehand.LocalEngine: ("plan", "read", "group"),
    samehand.SparkEngine: ("plan", "read", "group"),
    samehand.Likeness: ("of",),
    samehand.Settings: ("from_dict", "from_toml", "as_dict", "changed", "digest"),
}
"""What only samehand itself calls."""

_SECTION = re.compile(r"^(Args|Attributes|Returns|Raises|Example):$", re.MULTILINE)
_ENTRY = re.compile(r"^(\w+): (.+?)(?=^\w+: |\Z)", re.MULTILINE | re.DOTALL)


def api_page() -> str:
    """The page as it must stand in docs/api.md."""
    parts = [
        "# Python",
        "`import samehand` gives the names on this page and no others. A question that cannot be answered raises one "
        "of samehand's errors, which says what to do. [settings.md](settings.md) lists the settings, "
        "[run-folder.md](run-folder.md) the columns of each table; `examples/` holds programs to start from.",
        "## Functions",
        *(_entry(function, f"samehand.{function.__name__}") for function in FUNCTIONS),
        "## Run",
        text_of(samehand.Run),
        *(_entry(member, f"run.{name}") for name, member in members_of(samehand.Run)),
        "## Results",
        *(part for kind in (*RESULTS, *PARTS) for part in _class(kind)),
        "## Engines and progress",
        *(part for kind in ENGINES for part in _class(kind)),
        "## Settings",
        *_class(samehand.Settings),
        "## Errors",
        _errors(),
    ]
    return "\n\n".join(parts) + "\n"


def members_of(kind: type) -> Iterator[tuple[str, Any]]:
    """Public methods and properties, in the order of their definition, those of a base class first."""
    for base in reversed(kind.__mro__[:-1]):
        for name, member in vars(base).items():
            is_public = not name.startswith("_") and name not in PRIVATE.get(kind, ())
            if is_public and isinstance(member, property | classmethod | Callable):  # type: ignore[arg-type]
                yield name, member


def sections_of(thing: Any) -> dict[str, str]:
    """The docstring by section; the sentences before the first section have the name "" ."""
    pieces = _SECTION.split(inspect.getdoc(thing) or "")
    named = zip(pieces[1::2], pieces[2::2], strict=True)
    return {"": pieces[0].strip(), **{name: textwrap.dedent(text).strip("\n") for name, text in named}}


def entries_of(section: str) -> dict[str, str]:
    """Names and texts of a section such as Args."""
    return {name: " ".join(text.split()) for name, text in _ENTRY.findall(section)}


def text_of(thing: Any) -> str:
    """A docstring as Markdown."""
    parts = []
    for name, section in sections_of(thing).items():
        if name == "":
            parts.append(section)
        elif name == "Returns":
            parts.append(f"Returns: {' '.join(section.split())}")
        elif name == "Example":
            parts.append(f"```python\n{section.rstrip()}\n```")
        else:
            heading = "Raises:\n\n" if name == "Raises" else ""
            parts.append(heading + "\n".join(f"* `{key}`: {text}" for key, text in entries_of(section).items()))
    return "\n\n".join(parts)


def _entry(member: Any, name: str) -> str:
    if isinstance(member, property):
        return f"### {name}\n\n{text_of(member)}"
    called = member.__func__ if isinstance(member, classmethod) else member
    return f"### {name}\n\n```python\n{name}{signature_of(called)}\n```\n\n{text_of(called)}"


def _class(kind: type) -> Iterator[str]:
    name = kind.__name__
    public = f"samehand.{name}" if name in samehand.__all__ else name
    yield f"### {public}\n\n{text_of(kind)}"
    for method, member in members_of(kind):
        of = public if isinstance(member, classmethod) else name.lower()
        yield _entry(member, f"{of}.{method}").replace("### ", "#### ", 1)


def signature_of(function: Callable[..., Any]) -> str:
    """Names and defaults. What may be given for each stands in the docstring."""
    parameters = inspect.signature(function).parameters.values()
    plain = [each.replace(annotation=each.empty) for each in parameters if each.name not in ("self", "cls")]
    line = str(inspect.Signature(plain)).replace("'", '"')
    if len(line) <= 80:
        return line
    return "(\n" + "".join(f"    {part},\n" for part in line[1:-1].split(", ")) + ")"


def _errors() -> str:
    text = inspect.getdoc(errors) or ""
    tree = re.search(r"^ {4}SamehandError\n(?: {4}.*\n)+", text, re.MULTILINE)
    if tree is None:
        raise ValueError("The tree of errors is missing in samehand/base/errors.py.")
    before, after = text.split(tree[0])
    return f"{before.strip()}\n\n```text\n{textwrap.dedent(tree[0])}```\n\n{after.strip()}"


if __name__ == "__main__":
    PAGE.write_text(api_page(), encoding="utf-8")
