"""The pages of one memory: look, correct, delete, bring back."""

from __future__ import annotations

from litestar import Response, get, post
from litestar.params import FromPath

from noesis.api.access import PAGE, Wired
from noesis.dashboard import edit_form
from noesis.dashboard.edit_form import EditForm
from noesis.dashboard.forms import MAX_FORM_BYTES, read_form
from noesis.dashboard.history_rows import MOST_SHOWN, history_rows
from noesis.dashboard.kin import kin_of
from noesis.dashboard.markdown import render
from noesis.dashboard.presenters import detail
from noesis.dashboard.rendering import PageRequest, page, see
from noesis.dashboard.translation import gettext_noop
from noesis.editing import Edit
from noesis.errors import Conflict, InvalidInput, NoesisError, NotFound, StoreError, TooLarge
from noesis.memory import Memory, MemoryType, SearchQuery
from noesis.runtime import Noesis
from noesis.why_not import Stage, Verdict

RAW, RENDERED = "raw", "rendered"

_VERDICTS = {
    Stage.RETURNED: gettext_noop("Yes."),
    Stage.SCOPE: gettext_noop("No: another agent's."),
    Stage.DELETED: gettext_noop("No: deleted."),
    Stage.FILTER: gettext_noop("No: filtered out."),
    Stage.EXPIRED: gettext_noop("No: expired."),
    Stage.ARCHIVE: gettext_noop("No: archived."),
    Stage.LEG: gettext_noop("No: nothing leads to it."),
    Stage.LIMIT: gettext_noop("No: others fit better."),
    Stage.DIVERSITY: gettext_noop("No: too much like another hit."),
}


@get("/memories/{memory_id:str}", opt=PAGE, include_in_schema=False)
async def show_memory(request: PageRequest, noesis: Wired, memory_id: FromPath[str]) -> Response[str]:
    """The whole text, raw or rendered, and everything known about it."""
    memory = await noesis.browsing.get(request.auth, memory_id)
    view = RENDERED if request.query_params.get("view") == RENDERED else RAW
    rendered = render(memory.text) if view == RENDERED else None
    asked = request.query_params.get("why", "").strip()
    history = await noesis.oversight.history.of(request.auth, memory_id, limit=MOST_SHOWN)
    return page(
        request,
        "memory.html",
        here="search",
        memory=detail(memory, noesis.now_ms()),
        view=view,
        rendered=rendered,
        asked=asked,
        verdict=await _verdict(request, noesis, memory, asked) if asked else None,
        verdict_words=_VERDICTS,
        history=history_rows(history.events, noesis.now_ms()),
        older=history.cursor is not None,
        kin=await kin_of(request.auth, noesis, memory),
    )


async def _verdict(request: PageRequest, noesis: Noesis, memory: Memory, asked: str) -> Verdict | str:
    """Why its agent does not find it with this question, or what is wrong with the question."""
    query = SearchQuery(text=asked, limit=noesis.settings.top_k, agent=memory.agent_id)
    try:
        return await noesis.why_not.explain(request.auth, query, memory.id)
    except (InvalidInput, TooLarge) as error:
        return error.message


@get("/memories/{memory_id:str}/edit", opt=PAGE, include_in_schema=False)
async def show_edit(request: PageRequest, noesis: Wired, memory_id: FromPath[str]) -> Response[str]:
    """The form that corrects it."""
    memory = await _not_deleted(request, noesis, memory_id)
    return _edit_page(request, noesis, memory, edit_form.form_of(memory), None)


@post(
    "/memories/{memory_id:str}/edit",
    opt=PAGE,
    include_in_schema=False,
    status_code=200,
    request_max_body_size=MAX_FORM_BYTES,
)
async def edit_memory(request: PageRequest, noesis: Wired, memory_id: FromPath[str]) -> Response[str]:
    """Save what the form changed; a mistake, or a disk that is full, brings the form back as it was typed."""
    memory = await _not_deleted(request, noesis, memory_id)
    form = edit_form.read(await read_form(request))
    try:
        change = edit_form.to_edit(form, memory)
        if change == Edit():
            return see(f"/memories/{memory.id}?said=unchanged")
        await noesis.editing.edit(request.auth, memory.id, change)
    except (InvalidInput, Conflict, StoreError) as error:
        return _edit_page(request, noesis, memory, form, error)
    await noesis.audit.record(request.auth.actor, "memory edited", memory.id)
    return see(f"/memories/{memory.id}?said=edited")


@get("/memories/{memory_id:str}/delete", opt=PAGE, include_in_schema=False)
async def ask_delete(request: PageRequest, noesis: Wired, memory_id: FromPath[str]) -> Response[str]:
    """Ask before deleting."""
    memory = await _not_deleted(request, noesis, memory_id)
    return page(request, "delete.html", here="search", memory=detail(memory, noesis.now_ms()))


@post("/memories/{memory_id:str}/delete", opt=PAGE, include_in_schema=False, status_code=200)
async def delete_memory(request: PageRequest, noesis: Wired, memory_id: FromPath[str]) -> Response[str]:
    """Delete; its page then offers to bring it back."""
    memory = await noesis.editing.delete(request.auth, memory_id)
    await noesis.audit.record(request.auth.actor, "memory deleted", memory.id)
    return see(f"/memories/{memory.id}?said=deleted")


@post("/memories/{memory_id:str}/undelete", opt=PAGE, include_in_schema=False, status_code=200)
async def undelete_memory(request: PageRequest, noesis: Wired, memory_id: FromPath[str]) -> Response[str]:
    """Bring it back."""
    memory = await noesis.editing.undelete(request.auth, memory_id)
    await noesis.audit.record(request.auth.actor, "memory brought back", memory.id)
    return see(f"/memories/{memory.id}?said=restored")


@post("/memories/{memory_id:str}/embed", opt=PAGE, include_in_schema=False, status_code=200)
async def retry_vector(request: PageRequest, noesis: Wired, memory_id: FromPath[str]) -> Response[str]:
    """Let the worker try a failed vector again."""
    memory = await noesis.filling.retry(request.auth, memory_id)
    await noesis.jobs.enqueue("embed_pending", key="embed_pending")
    return see(f"/memories/{memory.id}?said=retried")


async def _not_deleted(request: PageRequest, noesis: Noesis, memory_id: str) -> Memory:
    memory = await noesis.browsing.get(request.auth, memory_id)
    if memory.deleted:
        raise NotFound(gettext_noop("This memory is deleted. Bring it back first."))
    return memory


def _edit_page(
    request: PageRequest, noesis: Noesis, memory: Memory, form: EditForm, error: NoesisError | None
) -> Response[str]:
    return page(
        request,
        "edit.html",
        here="search",
        status=200 if error is None else error.status_code,
        memory=detail(memory, noesis.now_ms()),
        form=form,
        error=error,
        types=[(kind.value, kind.default_priority) for kind in MemoryType],
    )


HANDLERS = [show_memory, show_edit, edit_memory, ask_delete, delete_memory, undelete_memory, retry_vector]
