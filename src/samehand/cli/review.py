"""The command that shows a run in the browser, to look at it and to label it."""

import click

import samehand
from samehand.base.errors import SamehandError
from samehand.base.wording import count
from samehand.cli.common import say
from samehand.cli.options import option, run_argument


@click.command()
@run_argument
@option("--port", type=click.IntRange(0, 65535), default=0, metavar="N", help="Port.  [default: a free one]")
@option("--no-browser", is_flag=True, help="Only print the address.")
def review(run: str, port: int, no_browser: bool) -> None:
    """Look at RUN in the browser, and label its clusters, pages and providers with few keys.

    Prints the address with its token as the first line. It works on this machine alone, and nothing that a page holds
    is fetched. Answers are in the labels of RUN; `samehand verdicts RUN` then goes by them. Ctrl-C ends the server.
    """
    try:
        from samehand.review.server import serve
    except ImportError:
        raise SamehandError("The review server needs more packages: pip install 'samehand[review]'") from None

    def ready(address: str) -> None:
        click.echo(address)
        say("Open this address in a browser on this machine. Ctrl-C ends the server.")
        if not no_browser:
            import webbrowser

            webbrowser.open(address)

    served = serve(samehand.open_run(run), port, ready)
    say(f"{count(len(served.labels()), 'answer')} in {run}. See what follows: samehand verdicts {run}")
