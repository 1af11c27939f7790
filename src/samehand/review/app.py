"""The pages of the review server and their twins in JSON."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.routing import Route

from samehand.base.errors import SamehandError, UsageError
from samehand.base.neutral import neutral
from samehand.base.wording import count
from samehand.review import screens
from samehand.review.charts import charts
from samehand.review.preview import preview
from samehand.review.review import ConflictError, Review

_HERE = Path(__file__).parent
_FILES = {"review.js": "text/javascript", "review.css": "text/css", "icon.svg": "image/svg+xml"}
_VIEWS = ("source", "text", "preview")
_LARGEST_NUMBER = 1 << 63

Data = dict[str, Any]


def application(review: Review) -> Starlette:
    """The application, without its guard."""
    pages = _Pages(review)
    drawn = charts(review)
    routes = [
        *pages.routes("/", "/overview.json", "overview.html", lambda _: {**screens.overview(review), "charts": drawn}),
        *pages.routes("/queue", "/queue.json", "queue.html", lambda _: review.progress()),
        *pages.routes(
            "/cluster/{number}",
            "/cluster/{number}.json",
            "cluster.html",
            lambda request: screens.cluster(review, _number(request, "number"), _asked(request, "start") or 0),
        ),
        *pages.routes("/page/{page_id}", "/page/{page_id}.json", "page.html", partial(_page, review)),
        *pages.routes(
            "/provider/{name}",
            "/provider/{name}.json",
            "provider.html",
            lambda request: screens.provider(review, request.path_params["name"]),
        ),
        Route("/compare/{left}/{right}.json", pages.twin(partial(_compared, review))),
        Route("/preview/{page_id}", partial(_preview, review)),
        Route("/answer.json", partial(_answer, review), methods=["POST"]),
        Route("/undo.json", partial(_undo, review), methods=["POST"]),
        Route("/static/{name}", _static),
        Route("/favicon.ico", _icon),
    ]
    handlers: Any = {SamehandError: pages.problem, HTTPException: pages.problem}
    return Starlette(routes=routes, exception_handlers=handlers)


class _Pages:
    """Pages from templates, and the same data as JSON."""

    def __init__(self, review: Review) -> None:
        self._environment = Environment(
            loader=FileSystemLoader(_HERE / "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._environment.filters["neutral"] = lambda value: neutral(str(value))
        self._environment.globals["count"] = lambda number, units: count(number, units.removesuffix("s"))
        self._environment.globals["run_name"] = review.run.path.name

    def routes(self, path: str, twin: str, template: str, make: Callable[[Request], Data]) -> list[Route]:
        """A page and its twin. The twin stands first: its address would fit the page, too."""

        def shown(request: Request) -> Response:
            return self._html(template, **make(request))

        return [Route(twin, self.twin(make)), Route(path, shown)]

    def twin(self, make: Callable[[Request], Data]) -> Callable[[Request], Response]:
        """Data as JSON."""
        return lambda request: _json(make(request))

    async def problem(self, request: Request, error: Exception) -> Response:
        """An error as one sentence."""
        status = error.status_code if isinstance(error, HTTPException) else _status(error)
        said = error.detail if isinstance(error, HTTPException) else str(error)
        if request.method == "POST" or request.url.path.endswith(".json"):
            return _json({"error": neutral(said)}, status)
        return self._html("problem.html", status, said=said)

    def _html(self, template: str, status: int = 200, **data: Any) -> HTMLResponse:
        return HTMLResponse(self._environment.get_template(template).render(**data), status)


def _status(error: Exception) -> int:
    if isinstance(error, screens.NotFoundError):
        return 404
    if isinstance(error, ConflictError):
        return 409
    return 400 if isinstance(error, UsageError) else 500


def _json(data: Data, status: int = 200) -> Response:
    """Numbers that are none become null; everything beyond ASCII is escaped."""
    body = json.dumps(data, default=str, allow_nan=False).encode()
    return Response(body, status, media_type="application/json")


def _number(request: Request, name: str) -> int:
    given = request.path_params[name]
    if not given.isascii() or not given.isdecimal() or len(given) > 19 or int(given) >= _LARGEST_NUMBER:
        raise screens.NotFoundError("There is no such thing in this run.")
    return int(given)


def _asked(request: Request, name: str) -> int | None:
    """A number in the query; None if there is none."""
    given = request.query_params.get(name, "")
    return int(given) if given.isascii() and given.isdecimal() and len(given) < 19 else None


def _page(review: Review, request: Request) -> Data:
    view = request.query_params.get("view", "source")
    if view not in _VIEWS:
        raise screens.NotFoundError("There is no such view: choose source, text or preview.")
    return screens.page(review, _number(request, "page_id"), view, _asked(request, "against"))


def _compared(review: Review, request: Request) -> Data:
    return screens.compared(review, _number(request, "left"), _number(request, "right"))


def _preview(review: Review, request: Request) -> Response:
    return HTMLResponse(preview(screens.preview_bytes(review, _number(request, "page_id"))))


async def _answer(review: Review, request: Request) -> Response:
    from starlette.concurrency import run_in_threadpool

    label = await run_in_threadpool(review.answer, await _body(request))
    progress = await run_in_threadpool(review.progress) if label.unit in ("cluster", "pair") else {}
    return _json({"saved": label.answer, "time": label.time, **progress})


async def _undo(review: Review, request: Request) -> Response:
    from starlette.concurrency import run_in_threadpool

    await _body(request)
    label = await run_in_threadpool(review.undo)
    number = None if label is None else next(iter(review.queue.answered([label])), None)
    progress = await run_in_threadpool(review.progress)
    if number is not None:  # the card comes back, whatever is open before it
        cards = [await run_in_threadpool(review.card, number)]
        progress["cards"] = cards + [card for card in progress["cards"] if card["number"] != number][:1]
    return _json({"undone": label.answer if label else None, "unit": label.unit if label else None, **progress})


async def _body(request: Request) -> Data:
    try:
        said = json.loads(await request.body())
    except (ValueError, RecursionError):
        raise HTTPException(400, "This is no JSON.") from None
    if not isinstance(said, dict):
        raise HTTPException(400, "Send a JSON object.")
    return said


def _static(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in _FILES:
        raise HTTPException(404, "There is no such file.")
    return FileResponse(_HERE / "static" / name, media_type=_FILES[name])


def _icon(_: Request) -> Response:
    return FileResponse(_HERE / "static" / "icon.svg", media_type=_FILES["icon.svg"])
