"""The review server: a socket on this machine alone, a token, and the application behind its guard."""

import contextlib
import secrets
import socket
import threading
from collections.abc import Callable

import uvicorn

from samehand.answers.run import Run
from samehand.base.errors import SamehandError, UsageError
from samehand.review.app import application
from samehand.review.guard import LAUNCH, Guard
from samehand.review.review import Review
from samehand.review.screens import compared

LOOPBACK = "127.0.0.1"
_BACKLOG = 64


def serve(run: Run, port: int, on_ready: Callable[[str], None]) -> Review:
    """Serves a run until it is interrupted. `on_ready` is told the address with the token, once that answers."""
    review = Review(run)
    listener = _bound(port)
    token = secrets.token_urlsafe(32)
    taken = listener.getsockname()[1]
    guarded = Guard(application(review), port=taken, token=token)
    settings = uvicorn.Config(
        guarded,
        log_config=None,
        access_log=False,  # it would hold the token
        server_header=False,
        ws="none",
        lifespan="off",
        http="h11",
        loop="asyncio",
        limit_concurrency=64,
        timeout_keep_alive=5,
        timeout_graceful_shutdown=2,
        h11_max_incomplete_event_size=32_768,
    )
    threading.Thread(target=_warm_up, args=(review,), daemon=True).start()
    on_ready(f"http://{LOOPBACK}:{taken}{LAUNCH}?token={token}")
    with listener, contextlib.suppress(KeyboardInterrupt):  # an interrupt is how a server is ended
        uvicorn.Server(settings).run(sockets=[listener])
    return review


def _warm_up(review: Review) -> None:
    """Compares the pages of the first card, so that whoever looks at it does not wait for the kernels."""
    with contextlib.suppress(SamehandError):
        for card in review.progress()["cards"][:1]:
            if card["pair"] is not None:
                compared(review, *(int(card["pair"][side]["page_id"]) for side in ("left", "right")))


def _bound(port: int) -> socket.socket:
    """A listening socket on the loopback address, whatever the settings of the machine say."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((LOOPBACK, port))
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        raise UsageError(f"Port {port} cannot be used ({error.strerror}): choose another --port.") from None
    return listener
