"""The pages of sources: the places that are followed, how far memory is behind them, and what to do about it."""

from __future__ import annotations

from litestar import Response, get, post
from litestar.params import FromPath

from noesis.api.access import PAGE, Wired
from noesis.dashboard import source_form
from noesis.dashboard.forms import read_form
from noesis.dashboard.rendering import PageRequest, page, see
from noesis.dashboard.source_form import SourceForm
from noesis.dashboard.source_rows import fate, forgets, place_row, summary, vanished_choices, watcher_line
from noesis.dashboard.translation import _
from noesis.errors import InvalidInput
from noesis.runtime import Noesis

HERE = "sources"


@get("/sources", opt=PAGE, include_in_schema=False)
async def show_sources(request: PageRequest, noesis: Wired) -> Response[str]:
    """All followed places, by a look at the disk now."""
    inflow = noesis.inflow
    watched = {root.key for root in await inflow.following.followed()}
    found = await inflow.scanning.freshness(request.auth, also_unwatched=True)
    now = noesis.now_ms()
    home = noesis.settings.openclaw_home
    return page(
        request,
        "sources.html",
        here=HERE,
        places=[place_row(fresh, watched, now) for fresh in found],
        summary=summary(found),
        watcher=watcher_line(await inflow.signs.read(), now),
        trouble=[(str(problem.path), problem.reason) for problem in inflow.following.problems],
        vanished=vanished_choices(),
        home=None if home is None else str(home),
    )


@get("/sources/new", opt=PAGE, include_in_schema=False)
async def show_new(request: PageRequest) -> Response[str]:
    """The form that adds a folder."""
    return _form_page(request, SourceForm(), None)


@post("/sources/new", opt=PAGE, include_in_schema=False, status_code=200)
async def add_source(request: PageRequest, noesis: Wired) -> Response[str]:
    """Follow a folder and have it read; a mistake brings the form back as it was typed."""
    form = source_form.read(await read_form(request))
    known = {root.key for root in await noesis.inflow.roots.all()}
    try:
        root = await noesis.inflow.following.add(
            form.agent,
            form.path,
            kind=source_form.kind_of(form),
            label=source_form.label_of(form),
            vanished=source_form.vanished_of(form.vanished),
        )
    except InvalidInput as error:
        return _form_page(request, form, error)
    if root.key in known:
        return see("/sources?said=followed-already")
    await noesis.audit.record(request.auth.actor, "source added", root.key)
    await _scan(noesis, root.key)
    return see("/sources?said=followed")


@post("/sources/{key:str}/scan", opt=PAGE, include_in_schema=False, status_code=200)
async def scan_source(noesis: Wired, key: FromPath[str]) -> Response[str]:
    """Have a place looked at now."""
    await noesis.inflow.roots.get(key)
    await _scan(noesis, key)
    return see("/sources?said=looking")


@post("/sources/{key:str}/vanished", opt=PAGE, include_in_schema=False, status_code=200)
async def change_vanished(request: PageRequest, noesis: Wired, key: FromPath[str]) -> Response[str]:
    """Say what becomes of memories whose file is gone."""
    vanished = source_form.vanished_of((await read_form(request)).get("vanished", ""))
    root = await noesis.inflow.roots.get(key)
    if vanished == root.vanished:
        return see("/sources?said=unchanged")
    await noesis.inflow.roots.change(key, vanished=vanished)
    await noesis.audit.record(request.auth.actor, "source changed", key)
    return see("/sources?said=edited")


@get("/sources/{key:str}/gone", opt=PAGE, include_in_schema=False)
async def ask_gone(request: PageRequest, noesis: Wired, key: FromPath[str]) -> Response[str]:
    """Ask whether files that vanished all at once are meant to be gone."""
    root = await noesis.inflow.roots.get(key)
    if not root.held:
        return see("/sources?said=none-held")
    return page(
        request,
        "source_gone.html",
        here=HERE,
        root=root,
        fate=fate(root),
    )


@post("/sources/{key:str}/gone", opt=PAGE, include_in_schema=False, status_code=200)
async def answer_gone(request: PageRequest, noesis: Wired, key: FromPath[str]) -> Response[str]:
    """Let go of vanished files, or look again whether they came back."""
    is_meant = (await read_form(request)).get("answer") == "gone"
    root = await noesis.inflow.roots.get(key)
    if not root.held:
        return see("/sources?said=none-held")
    if is_meant:
        await noesis.audit.record(request.auth.actor, "vanished files confirmed", key)
    await _scan(noesis, key, confirmed=is_meant)
    return see(f"/sources?said={'gone-confirmed' if is_meant else 'kept-waiting'}")


@get("/sources/{key:str}/forget", opt=PAGE, include_in_schema=False)
async def ask_forget(request: PageRequest, noesis: Wired, key: FromPath[str]) -> Response[str]:
    """Ask before following a place no longer."""
    root = await noesis.inflow.roots.get(key)
    return page(request, "source_forget.html", here=HERE, root=root, has_documents=forgets(root))


@post("/sources/{key:str}/forget", opt=PAGE, include_in_schema=False, status_code=200)
async def forget_source(request: PageRequest, noesis: Wired, key: FromPath[str]) -> Response[str]:
    """Follow a place no longer, and archive its documents' memories if that was chosen."""
    archive = (await read_form(request)).get("archive") == "yes"
    await noesis.inflow.following.forget(key, archive=archive)
    await noesis.audit.record(request.auth.actor, "source forgotten", key)
    return see(f"/sources?said={'forgotten-archived' if archive else 'forgotten'}")


async def _scan(noesis: Noesis, key: str, *, confirmed: bool = False) -> None:
    """Queue a scan under the key that the API and the watcher use, so that none runs twice."""
    args: dict[str, str | bool] = {"root": key}
    if confirmed:
        args["confirmed"] = True
    await noesis.jobs.enqueue(
        "scan_source", key=f"scan:{key}:confirmed" if confirmed else f"scan:{key}", args=args
    )


def _form_page(request: PageRequest, form: SourceForm, error: InvalidInput | None) -> Response[str]:
    return page(
        request,
        "source_form.html",
        here=HERE,
        status=200 if error is None else error.status_code,
        form=form,
        error=error,
        kinds=[
            ("markdown", _("notes (Markdown and text)")),
            ("transcripts", _("transcripts (of an agent's sessions)")),
        ],
        vanished=vanished_choices(),
    )


HANDLERS = [
    show_sources,
    show_new,
    add_source,
    scan_source,
    change_vanished,
    ask_gone,
    answer_gone,
    ask_forget,
    forget_source,
]
