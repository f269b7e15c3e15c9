"""The pages of agents: who remembers what, by which tokens, under which policy, and what is in a prompt now."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec
from litestar import Response, get, post
from litestar.params import FromPath

from noesis.api.access import PAGE, Wired
from noesis.context.values import Assembled, Occasion
from noesis.dashboard import agent_form, charts
from noesis.dashboard.agent_form import PolicyForm
from noesis.dashboard.agent_rows import ROLES, agent_rows, token_rows
from noesis.dashboard.forms import read_form
from noesis.dashboard.openclaw_commands import openclaw_commands
from noesis.dashboard.presenters import Row, row
from noesis.dashboard.rendering import PageRequest, base_url, page, see
from noesis.dashboard.translation import _, gettext_noop, listed, ngettext
from noesis.errors import InvalidInput, NoesisError, NotFound
from noesis.memory import Role, Scope
from noesis.runtime import Noesis
from noesis.text.normalise import agent_name
from noesis.tokens import Token

HERE = "agents"
_LONGEST_PROMPT = 4000


class PromptLine(msgspec.Struct, frozen=True):
    """One memory that would be in the prompt, why, and the tokens it takes."""

    row: Row
    why: str
    tokens: int


class TokenForm(msgspec.Struct, frozen=True):
    """The fields of a new token as they were typed."""

    name: str = ""
    role: str = "agent"
    agents: str = ""


@get("/agents", opt=PAGE, include_in_schema=False)
async def show_agents(request: PageRequest, noesis: Wired) -> Response[str]:
    """All agents and all tokens."""
    return await _agents_page(request, noesis, TokenForm(), None)


@post("/agents/tokens", opt=PAGE, include_in_schema=False, status_code=200)
async def make_token(request: PageRequest, noesis: Wired) -> Response[str]:
    """Make a token and show its secret, this once."""
    fields = await read_form(request)
    form = TokenForm(*(fields.get(name, "").strip() for name in TokenForm.__struct_fields__))
    try:
        token, secret = await noesis.tokens.create(_role(form.role), _names(form.agents), form.name)
    except InvalidInput as error:
        return await _agents_page(request, noesis, form, error)
    await noesis.audit.record(request.auth.actor, "token created", token.id)
    address = base_url(request, https=noesis.settings.secure_cookies)
    return page(
        request,
        "token_made.html",
        here=HERE,
        token=token,
        secret=secret,
        url=address,
        openclaw_commands=openclaw_commands(address, secret),
        agent=token.agents[0] if token.role is Role.AGENT else None,
    )


@get("/agents/tokens/{token_id:str}/revoke", opt=PAGE, include_in_schema=False)
async def ask_revoke(request: PageRequest, noesis: Wired, token_id: FromPath[str]) -> Response[str]:
    """Ask before a token is made worthless."""
    (found,) = token_rows([await _token(noesis, token_id)], noesis.now_ms())
    return page(request, "token_revoke.html", here=HERE, token=found)


@post("/agents/tokens/{token_id:str}/revoke", opt=PAGE, include_in_schema=False, status_code=200)
async def revoke_token(request: PageRequest, noesis: Wired, token_id: FromPath[str]) -> Response[str]:
    """Make a token worthless for good."""
    await noesis.tokens.revoke(token_id)
    await noesis.audit.record(request.auth.actor, "token revoked", token_id)
    return see("/agents?said=revoked")


@get("/agents/{name:str}", opt=PAGE, include_in_schema=False)
async def show_agent(request: PageRequest, noesis: Wired, name: FromPath[str]) -> Response[str]:
    """One agent, and what a prompt of its would hold."""
    agent = agent_name(name)
    return await _agent_page(
        request, noesis, agent, agent_form.form_of(await noesis.agents.policy(agent)), None
    )


@post("/agents/{name:str}/policy", opt=PAGE, include_in_schema=False, status_code=200)
async def set_policy(request: PageRequest, noesis: Wired, name: FromPath[str]) -> Response[str]:
    """Change an agent's policy; a mistake brings the form back as it was typed."""
    agent = agent_name(name)
    form = agent_form.read(await read_form(request))
    try:
        policy = agent_form.policy_of(agent, form)
    except InvalidInput as error:
        return await _agent_page(request, noesis, agent, form, error)
    if policy == await noesis.agents.policy(agent):
        return see(f"/agents/{agent}?said=unchanged")
    await noesis.agents.set_policy(policy)
    await noesis.audit.record(request.auth.actor, "policy set", agent)
    return see(f"/agents/{agent}?said=edited")


async def _agents_page(
    request: PageRequest, noesis: Noesis, form: TokenForm, error: InvalidInput | None
) -> Response[str]:
    tokens, now = await noesis.tokens.list(), noesis.now_ms()
    stats = await noesis.statistics.stats(request.auth)
    refused = {name: count.count for name, count in (await noesis.quotas.refused()).items()}
    return page(
        request,
        "agents.html",
        here=HERE,
        status=200 if error is None else error.status_code,
        agents=agent_rows(stats, await noesis.agents.policies(), tokens, refused, now),
        tokens=token_rows(tokens, now),
        roles=[(role, _(words)) for role, words in ROLES.items()],
        form=form,
        error=error,
    )


async def _agent_page(
    request: PageRequest, noesis: Noesis, agent: str, form: PolicyForm, error: InvalidInput | None
) -> Response[str]:
    own = Scope(agent=agent, role=Role.ADMIN, actor=request.auth.actor)
    stats, now = await noesis.statistics.stats(own), noesis.now_ms()
    prompt = (request.query_params.get("prompt") or "")[:_LONGEST_PROMPT]
    asked = "prompt" in request.query_params
    found = await _in_prompt(noesis, own, prompt) if asked else None
    lives = await noesis.retention.lifetimes.of(agent)
    return page(
        request,
        "agent.html",
        here=HERE,
        status=200 if error is None else error.status_code,
        agent=agent,
        stats=stats,
        types=charts.strip(list(stats.active.by_type.items())),
        growth=charts.bars([(_day(at), count) for at, count in await noesis.growth.weeks(own)]),
        tokens=token_rows(await noesis.tokens.list(), now, agent),
        form=form,
        error=error,
        lives=[
            (name, _life(lives.days(name)) if name != agent_form.LIVES[0] else "")
            for name in agent_form.LIVES
        ],
        prompt=prompt,
        assembled=found,
        lines=_lines(found, prompt, now) if isinstance(found, Assembled) else (),
        left_out=_left_out(found) if isinstance(found, Assembled) else (),
    )


async def _in_prompt(noesis: Noesis, scope: Scope, prompt: str) -> Assembled | str:
    """What would be in this prompt now, or why nothing can be said."""
    if not noesis.settings.context_engine_enabled:
        return gettext_noop(
            "The context engine is off (NOESIS_CONTEXT_ENGINE_ENABLED): nothing is put into prompts."
        )
    try:
        return await noesis.context.assembling.assemble(scope, Occasion(prompt=prompt))
    except NoesisError as error:
        return error.message


def _lines(found: Assembled, prompt: str, now_ms: int) -> list[PromptLine]:
    return [
        PromptLine(
            row(each.memory, prompt, now_ms),
            _why(each.why),
            each.token_count,
        )
        for each in found.included
    ]


def _why(reasons: Sequence[str]) -> str:
    words = {
        ("priority",): _("for its priority"),
        ("recalled",): _("recalled by the prompt"),
        ("priority", "recalled"): _("for its priority and recalled by the prompt"),
        ("recalled", "priority"): _("recalled by the prompt and for its priority"),
    }
    return words.get(tuple(reasons)) or listed(reasons)


def _left_out(found: Assembled) -> list[str]:
    words = {
        "superseded": _("superseded"),
        "no room in the budget": _("no room in the budget"),
    }
    return [
        _("%(count)s left out (%(reason)s)", count=count, reason=words.get(reason, reason.replace("_", " ")))
        for reason, count in found.left_out.items()
    ]


async def _token(noesis: Noesis, token_id: str) -> Token:
    for token in await noesis.tokens.list():
        if token.id == token_id:
            return token
    raise NotFound(gettext_noop("There is no token with this id."))


def _role(raw: str) -> Role:
    try:
        return Role(raw)
    except ValueError as error:
        raise InvalidInput(gettext_noop("Choose a role."), field="role") from error


def _names(raw: str) -> list[str]:
    return [name.strip() for name in raw.split(",") if name.strip()]


def _day(at_ms: int) -> str:
    return f"{datetime.fromtimestamp(at_ms / 1000, UTC):%Y-%m-%d}"


def _life(days: float) -> str:
    if not days:
        return _("never expires")
    return ngettext("%(count)s day", "%(count)s days", math.ceil(days), count=f"{days:g}")


HANDLERS = [show_agents, make_token, ask_revoke, revoke_token, show_agent, set_policy]
