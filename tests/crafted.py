"""Runs commands one after the other in a process that may crash, and says how each ended.

    python tests/crafted.py < jobs.jsonl

A job is a line [folder, arguments]: the command is run in that folder. Its outcome is a line [code, out, err], with
code null for an exception that nobody caught.
"""

import contextlib
import io
import json
import os
import sys
import traceback

from samehand.cli.main import main


def ended(arguments: list[str]) -> tuple[int | None, str, str]:
    """Exit code, standard output and standard error of a command."""
    out, err = io.StringIO(), io.StringIO()
    sys.argv = ["samehand", *arguments]
    code: int | None = None
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
        except BaseException:  # noqa: BLE001 - what would be a traceback
            traceback.print_exc()
    return code, out.getvalue(), err.getvalue()


def serve() -> None:
    """Does the jobs on standard input."""
    jobs = [json.loads(line) for line in sys.stdin]
    answers = os.fdopen(os.dup(1), "w")
    for folder, arguments in jobs:
        os.chdir(folder)
        answers.write(json.dumps(ended(arguments)) + "\n")
        answers.flush()


if __name__ == "__main__":
    serve()
