"""Routes of acts on many memories by filter: first a preview with the count, then the act on exactly so many."""

from __future__ import annotations

from typing import Any

import msgspec
from litestar import delete, patch
from litestar.params import FromQuery, JSONBody
from msgspec import UNSET, UnsetType

from noesis.api.access import Wired
from noesis.api.filters import FILTER, FILTER_PARAMETERS, Filtered, FilterFields
from noesis.api.memories import ApiRequest
from noesis.api.views import named_agent
from noesis.bulk_editing import BulkDone, BulkEdit
from noesis.errors import InvalidInput
from noesis.memory import DAY_MS, MAX_TTL_DAYS, MemoryType, check_name, check_tags
from noesis.selecting import Selection


class SelectionFields(FilterFields, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which memories: all filters that are given must fit, and at least one must be given.

    `min_age_days` and `max_age_days` count from when a memory was created; `archived` means the archive.
    """

    agent_id: str | None = None
    min_age_days: float | None = None
    max_age_days: float | None = None
    archived: bool = False

    def to_selection(self, now_ms: int) -> Selection:
        """The domain's form.  Raises InvalidInput, also for a filter that is empty."""
        wanted = self.to_filter()
        after, before = wanted.after, wanted.before
        if self.max_age_days is not None:
            after = max(after or 0, _days_ago(self.max_age_days, "max_age_days", now_ms))
        if self.min_age_days is not None:
            # What was created in this very millisecond is 0 days old.
            youngest = _days_ago(self.min_age_days, "min_age_days", now_ms) + 1
            before = youngest if before is None else min(before, youngest)
        return Selection(
            wanted=msgspec.structs.replace(
                wanted,
                tags=check_tags(self.tags),
                session_id=check_name(self.session_id, "session_id"),
                source=check_name(self.source, "source"),
                after=after,
                before=before,
            ),
            agent=named_agent(self.agent_id),
            archived=self.archived,
        )


def _days_ago(days: float, field: str, now_ms: int) -> int:
    if not 0 <= days <= MAX_TTL_DAYS:
        raise InvalidInput(f"{field} must be a number of days.", field=field)
    return max(0, now_ms - round(days * DAY_MS))


class ChangesRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to change in each memory; a priority of null goes back to that of the type."""

    memory_type: MemoryType | UnsetType = UNSET
    priority: int | UnsetType | None = UNSET
    ttl_days: float | UnsetType = UNSET
    pinned: bool | UnsetType = UNSET
    add_tags: tuple[str, ...] = ()
    remove_tags: tuple[str, ...] = ()

    def to_edit(self) -> BulkEdit:
        """The domain's form."""
        return BulkEdit(**{name: getattr(self, name) for name in self.__struct_fields__})


class BulkEditRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to change in which memories; without `confirm_count` nothing is changed."""

    filter: SelectionFields
    changes: ChangesRequest
    confirm_count: int | None = None


class BulkView(msgspec.Struct, frozen=True, kw_only=True):
    """How many memories are meant (not `applied`) or were changed, and the ids of the first ones.

    `left_out` could not be changed, or had ceased to fit.
    """

    count: int
    applied: bool
    sample: tuple[str, ...]
    left_out: int


def bulk_view(done: BulkDone) -> BulkView:
    """The API's form of a preview or of what was done."""
    return BulkView(count=done.count, applied=done.applied, sample=done.sample, left_out=done.left_out)


_PARAMETERS = FILTER_PARAMETERS | {"agent_id", "min_age_days", "max_age_days", "archived", "confirm_count"}


def refuse_unknown(request: ApiRequest, known: frozenset[str]) -> None:
    """Raise InvalidInput for a parameter that there is not: a filter that is misspelt would delete more."""
    unknown = sorted(set(request.query_params) - known)
    if unknown:
        raise InvalidInput("There is no such parameter.", field=unknown[0][:64])


@delete("/memories", summary="Delete many memories", status_code=200, tags=["memories"], dependencies=FILTER)
async def delete_memories(
    request: ApiRequest,
    noesis: Wired,
    wanted: Filtered,
    agent_id: FromQuery[str | None] = None,
    min_age_days: FromQuery[float | None] = None,
    max_age_days: FromQuery[float | None] = None,
    archived: FromQuery[bool] = False,
    confirm_count: FromQuery[int | None] = None,
) -> BulkView:
    """Take all memories that fit out of every answer; they can be brought back.

    Without `confirm_count` it only says how many those are; with another count than fits now it is 409.
    """
    refuse_unknown(request, _PARAMETERS)
    fields = SelectionFields(
        **msgspec.structs.asdict(wanted),
        agent_id=agent_id,
        min_age_days=min_age_days,
        max_age_days=max_age_days,
        archived=archived,
    )
    selection = fields.to_selection(noesis.now_ms())
    return bulk_view(await noesis.oversight.bulk.delete(request.auth, selection, confirm_count))


@patch("/memories", summary="Change many memories", tags=["memories"])
async def patch_memories(request: ApiRequest, noesis: Wired, data: JSONBody[BulkEditRequest]) -> BulkView:
    """Change priority, TTL, type, tags or pin of all memories that fit.

    Without `confirm_count` it only says how many those are; with another count than fits now it is 409.
    """
    selection = data.filter.to_selection(noesis.now_ms())
    done = await noesis.oversight.bulk.edit(
        request.auth, selection, data.changes.to_edit(), data.confirm_count
    )
    return bulk_view(done)


HANDLERS: list[Any] = [delete_memories, patch_memories]
