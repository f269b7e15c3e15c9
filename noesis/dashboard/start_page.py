"""The page of the first steps, which is spoken of until they are done."""

from __future__ import annotations

from litestar import Response, get, post

from noesis.api.access import PAGE, Wired
from noesis.dashboard import first_steps
from noesis.dashboard.forms import MAX_FORM_BYTES, read_form
from noesis.dashboard.openclaw_commands import openclaw_commands
from noesis.dashboard.rendering import PageRequest, base_url, page, see
from noesis.errors import InvalidInput, NoesisError, StoreError
from noesis.memory import NewMemory, Role, Scope
from noesis.runtime import Noesis
from noesis.text.normalise import agent_name


@get("/start", opt=PAGE, include_in_schema=False)
async def show_start(request: PageRequest, noesis: Wired) -> Response[str]:
    """What is done, and how the rest is done."""
    return await _page(request, noesis, None)


@post(
    "/start/memory",
    opt=PAGE,
    include_in_schema=False,
    status_code=200,
    request_max_body_size=MAX_FORM_BYTES,
)
async def store_first(request: PageRequest, noesis: Wired) -> Response[str]:
    """Store a first memory by hand; a mistake brings the page back as it was typed."""
    fields = await read_form(request)
    text, agent = fields.get("text", "").replace("\r\n", "\n"), fields.get("agent", "")
    try:
        scope = Scope(agent=_agent(agent), role=Role.ADMIN, actor=request.auth.actor)
        await noesis.indexing.index(scope, NewMemory(text=text))
    except (InvalidInput, StoreError) as error:
        return await _page(request, noesis, error, text, agent)
    return see("/start?said=stored#memory")


@post("/start/end", opt=PAGE, include_in_schema=False, status_code=200)
async def end_steps(noesis: Wired) -> Response[str]:
    """Speak of the first steps no longer."""
    await first_steps.end(noesis)
    return see("/")


async def _page(
    request: PageRequest, noesis: Noesis, error: NoesisError | None, text: str = "", agent: str = ""
) -> Response[str]:
    steps = await first_steps.look(noesis, request.auth)
    if steps.are_done:
        await first_steps.end(noesis)
    address = base_url(request, https=noesis.settings.secure_cookies)
    return page(
        request,
        "start.html",
        status=200 if error is None else error.status_code,
        steps=steps,
        commands=openclaw_commands(address),
        base_url=address,
        text=text,
        agent=agent or first_steps.first_agent(await noesis.tokens.list()),
        error=error,
    )


def _agent(raw: str) -> str:
    try:
        return agent_name(raw.strip())
    except InvalidInput as error:
        raise InvalidInput(error.message, field="agent") from error


HANDLERS = [show_start, store_first, end_steps]
