"""The command line: one command, subcommands; whatever is slow to import is imported late.

Data goes to standard output, everything else to standard error.
"""

import sys
from typing import NoReturn

import click

import samehand
from samehand.base.errors import SamehandError
from samehand.base.neutral import neutral
from samehand.cli.demo import demo
from samehand.cli.export import export
from samehand.cli.fake import fake
from samehand.cli.label import label
from samehand.cli.language import language
from samehand.cli.options import Commands
from samehand.cli.phrases import phrases
from samehand.cli.replica import lexicon, match, replicas
from samehand.cli.report import report
from samehand.cli.review import review
from samehand.cli.runs import add, scan, status
from samehand.cli.sites import sites, structure
from samehand.cli.start import INTERRUPTED, SENTENCE, is_out_of_memory
from samehand.cli.style import clusters, compare, like, show, spread
from samehand.cli.verdicts import explain, verdicts

EXIT_CODES = """\b
Exit codes:
  0    fine
  2    usage: the message says what to change
  3    finished, but some input was damaged (samehand status RUN says what)
  4    nothing readable in the inputs
  130  interrupted: run the same command again to go on"""


def main() -> NoReturn:
    """Runs the command: turns errors into one sentence and an exit code."""
    try:
        code = cli.main(prog_name="samehand", standalone_mode=False)
    except (click.exceptions.Abort, KeyboardInterrupt):
        _end(INTERRUPTED, SENTENCE)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        sys.exit(error.exit_code)
    except click.UsageError as error:
        _end(error.exit_code, f"Error: {_usage_message(error)}")
    except click.ClickException as error:
        _end(error.exit_code, f"Error: {neutral(error.format_message())}")
    except SamehandError as error:
        if is_out_of_memory(error.__cause__):
            raise  # what was read is not to blame
        _end(error.exit_code, f"Error: {neutral(str(error))}")
    except BrokenPipeError:
        sys.stderr.close()  # whoever read us has gone; nothing to say
        sys.exit(0)
    sys.exit(code if isinstance(code, int) else 0)


def _usage_message(error: click.UsageError) -> str:
    """What click says, in one line: with the nearest right option, and where the help is."""
    message = error.format_message()
    if isinstance(error, click.NoSuchOption) and error.possibilities:
        message = f"There is no option {error.option_name}: did you mean {error.possibilities[0]}?"
    return neutral(message) + (f" See {error.ctx.command_path} --help." if error.ctx else "")


def _end(code: int, message: str) -> NoReturn:
    click.echo(message, err=True)
    sys.exit(code)


@click.group(cls=Commands, epilog=EXIT_CODES, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(samehand.__version__, prog_name="samehand")
@click.option("-v", "--verbose", is_flag=True, help="Report each unit of work on standard error.")
@click.option("-q", "--quiet", is_flag=True, help="Print only errors on standard error.")
@click.pass_context
def cli(context: click.Context, verbose: bool, quiet: bool) -> None:
    """Finds the web pages that were made by the same hand."""
    context.obj = {"quiet": quiet, "verbose": verbose}


for command in (
    scan,
    add,
    status,
    clusters,
    show,
    like,
    compare,
    spread,
    replicas,
    lexicon,
    match,
    fake,
    language,
    phrases,
    sites,
    structure,
    verdicts,
    explain,
    label,
    report,
    review,
    export,
    demo,
):
    cli.add_command(command)


if __name__ == "__main__":
    main()
