"""What each tool takes, described so that a model fills it in rightly."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from noesis.memory import MAX_LIMIT, MAX_TTL_DAYS

Kind = Annotated[
    Literal["fact", "decision", "preference", "context", "session"],
    Meta(description="What kind of thing is remembered"),
]
Kinds = Annotated[list[Kind], Meta(description="Only memories of these kinds")]
Id = Annotated[str, Meta(min_length=1, description="The id of the memory, as other tools give it")]
Limit = Annotated[int, Meta(ge=1, le=MAX_LIMIT, description="How many memories at most")]
Priority = Annotated[
    int,
    Meta(
        ge=0,
        le=100,
        description="0 to 100. From 75 on it is put into every prompt of this agent. Default by kind:"
        " decision 85, preference 80, context 60, fact 30, session 20",
    ),
]
Tags = Annotated[list[str], Meta(description="Short labels to find it by")]
Ttl = Annotated[
    float, Meta(ge=0, le=MAX_TTL_DAYS, description="Life in days, 0 = never expires; default by kind")
]
Session = Annotated[str, Meta(description="The conversation it belongs to")]


class Arguments(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of a tool."""


class SearchArguments(Arguments, frozen=True, kw_only=True):
    """What to search for."""

    query: Annotated[
        str,
        Meta(min_length=1, description="What you want to know, as a question or as words, in any language"),
    ]
    limit: Limit = 6
    memory_types: Kinds = []
    tags: Annotated[list[str], Meta(description="Only memories that have all of these tags")] = []
    session_id: Annotated[str | None, Meta(description="Only memories of this conversation")] = None
    after: Annotated[
        datetime | None, Meta(description="Only memories from this time on, ISO 8601 with zone")
    ] = None
    before: Annotated[
        datetime | None, Meta(description="Only memories before this time, ISO 8601 with zone")
    ] = None
    cross_agent: Annotated[
        bool, Meta(description="Also read other agents' memories; refused unless an administrator allows it")
    ] = False
    agent_id: Annotated[
        str | None, Meta(description="Only this agent's memories; another than your own needs cross_agent")
    ] = None


class IndexArguments(Arguments, frozen=True, kw_only=True):
    """What to remember."""

    text: Annotated[
        str,
        Meta(
            min_length=1,
            description="One thing to remember, in full sentences that are understood without the conversation:"
            " who, what, when",
        ),
    ]
    memory_type: Kind = "fact"
    priority: Priority | None = None
    tags: Tags = []
    ttl_days: Ttl | None = None
    session_id: Session | None = None


class RecallArguments(Arguments, frozen=True, kw_only=True):
    """Which recent memories."""

    limit: Limit = 20
    session_id: Annotated[str | None, Meta(description="Only memories of this conversation")] = None


class IdArguments(Arguments, frozen=True, kw_only=True):
    """Which memory."""

    id: Id


class UpdateArguments(Arguments, frozen=True, kw_only=True):
    """What to change of a memory; what is not given stays."""

    id: Id
    text: Annotated[str, Meta(min_length=1, description="The new text, whole")] | UnsetType = UNSET
    memory_type: Kind | UnsetType = UNSET
    priority: Priority | UnsetType = UNSET
    tags: Annotated[list[str], Meta(description="The new tags, all of them")] | UnsetType = UNSET
    ttl_days: Ttl | UnsetType = UNSET
    pinned: Annotated[bool, Meta(description="true: it never expires")] | UnsetType = UNSET


class StatsArguments(Arguments, frozen=True, kw_only=True):
    """Nothing."""
