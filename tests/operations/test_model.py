"""Whatever is done in whatever order, the product answers as a plain dict of memories would."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Coroutine, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    MultipleResults,
    RuleBasedStateMachine,
    initialize,
    invariant,
    multiple,
    precondition,
    rule,
    run_state_machine_as_test,
)

from noesis.editing import Edit
from noesis.errors import Conflict, EmbedderUnavailable, Forbidden, NoesisError, NotFound
from noesis.filling import Filled
from noesis.memory import (
    DELETED,
    EXPIRED,
    ArchiveUse,
    Indexed,
    Memory,
    MemoryFilter,
    Mode,
    NewMemory,
    Role,
    Scope,
    SearchQuery,
    SearchResult,
)
from noesis.runtime import Noesis
from noesis.store import Table
from tests.operations import drawn
from tests.operations.model import AGENTS, Expected, Model, Refused, Remembered, readable, seen
from tests.operations.round_trip import round_trip
from tests.support import Clock, Product, WordEmbedder, running

T = TypeVar("T")

ENVIRON = {
    # Small, so that a text need not be long to have several chunks, and that a crowd gets a vector index.
    "NOESIS_CHUNK_SIZE": "32",
    "NOESIS_CHUNK_OVERLAP": "8",
    "NOESIS_ANN_MIN_ROWS": "256",
}
CROWD_SIZE = 300
EVERYBODY = Scope(None, Role.ADMIN)


class Killed(Exception):
    """The process is gone."""


async def killed(_table: Table, ids: Sequence[str]) -> None:
    """The step of a write at which the process is killed."""
    if ids:
        raise Killed


class MemoryMachine(RuleBasedStateMachine):
    """Does the same to the product and to the model, and compares every answer."""

    stored: Bundle[str] = Bundle("stored")

    def __init__(self) -> None:
        super().__init__()
        self.directory = tempfile.TemporaryDirectory()
        # The operations are asynchronous and the rules are not: each machine has a loop of its own.
        self.runner = asyncio.Runner()
        self.stack = AsyncExitStack()
        self.clock = Clock()
        self.embedder = WordEmbedder()
        self.model = Model(self.clock)
        self.has_crowd = False
        self.touched: str | None = None
        self.owners: dict[str, str] = {}
        self.abandoned: list[AsyncExitStack] = []
        self.run(self._open())

    def teardown(self) -> None:
        for stack in (self.stack, *self.abandoned):
            self.run(stack.aclose())
        self.runner.close()
        self.directory.cleanup()

    @initialize(target=stored, agent=drawn.agents, news=st.lists(drawn.plain_news, min_size=2, max_size=4))
    def index_the_first(self, agent: str, news: list[NewMemory]) -> MultipleResults[str]:
        return multiple(*self._index_many(agent, news))

    @rule(target=stored, agent=drawn.agents, new=drawn.news | drawn.plain_news)
    def index(self, agent: str, new: NewMemory) -> str:
        answer = self.run(self.noesis.indexing.index(Scope(agent), new))
        self.model.index(agent, new, answer, pending=self.embedder.down)
        self.owners[answer.id] = agent
        self._is_as_expected(self.run(self.noesis.browsing.get(Scope(agent), answer.id)))
        return answer.id

    @rule(target=stored, agent=drawn.agents, news=st.lists(drawn.news | drawn.plain_news, max_size=8))
    def index_several_at_once(self, agent: str, news: list[NewMemory]) -> MultipleResults[str]:
        return multiple(*self._index_many(agent, news))

    @precondition(lambda self: not self.has_crowd)
    @rule(target=stored, agent=drawn.agents, ttl_days=drawn.ttls)
    def index_a_crowd(self, agent: str, ttl_days: float) -> MultipleResults[str]:
        self.has_crowd = True
        return multiple(*self._index_many(agent, drawn.crowd(CROWD_SIZE, ttl_days))[:3])

    @rule(memory_id=stored, edit=drawn.edits | drawn.new_texts | drawn.pins, caller=drawn.owner_or_any)
    def edit(self, memory_id: str, edit: Edit, caller: Scope | None) -> None:
        call = self.noesis.editing.edit(self._caller(memory_id, caller), memory_id, edit)
        if not self._is_mine(memory_id, caller) or self._of(memory_id).reason == DELETED:
            self.refused(call, NotFound)
            return
        answer = self.run(call)
        self.model.edit(memory_id, edit, pending=self.embedder.down, chunks=answer.chunks)
        self._is_as_expected(answer)

    @rule(memory_id=stored, caller=drawn.owner_or_any)
    def delete(self, memory_id: str, caller: Scope | None) -> None:
        call = self.noesis.editing.delete(self._caller(memory_id, caller), memory_id)
        if not self._is_mine(memory_id, caller) or self._of(memory_id).reason == DELETED:
            self.refused(call, NotFound)
            return
        answer = self.run(call)
        self.model.delete(memory_id)
        self._is_as_expected(answer)

    @rule(memory_id=stored, caller=drawn.owner_or_any)
    def undelete(self, memory_id: str, caller: Scope | None) -> None:
        call = self.noesis.editing.undelete(self._caller(memory_id, caller), memory_id)
        if not self._is_mine(memory_id, caller):
            self.refused(call, NotFound)
        elif self._of(memory_id).reason != DELETED:
            self.refused(call, Conflict)
        else:
            answer = self.run(call)
            self.model.undelete(memory_id)
            self._is_as_expected(answer)

    @rule(memory_id=stored, caller=drawn.owner_or_any)
    def get(self, memory_id: str, caller: Scope | None) -> None:
        call = self.noesis.browsing.get(self._caller(memory_id, caller), memory_id)
        if self._is_mine(memory_id, caller):
            self._is_as_expected(self.run(call))
        else:
            self.refused(call, NotFound)

    @rule(days=drawn.steps)
    def let_time_pass(self, days: float) -> None:
        """Nothing else happens: what expired lies where it lay."""
        self.clock.advance(days=days)

    @rule(down=st.booleans())
    def let_the_embedder_come_or_go(self, down: bool) -> None:
        self.embedder.down = down

    @precondition(lambda self: self.model.pending_rows())
    @rule()
    def fill_in_vectors(self) -> None:
        waiting = self.model.pending_rows()
        call = self.noesis.filling.fill(lambda done, total: None)
        if self.embedder.down:
            self.refused(call, EmbedderUnavailable)
        else:
            assert self.run(call) == Filled(embedded=waiting, failed=0, waiting=0)
            self.model.fill()

    @rule(confirm=st.booleans())
    def clean_up(self, confirm: bool) -> None:
        """Archive what expired and purge what lay in the archive for long enough, as far as it goes unasked."""
        done = self.run(self.noesis.retention.cleaning.run(None, confirm=confirm))
        assert bool(done.reasons) == (done.state == "needs confirmation")
        assert msgspec.structs.replace(done, reasons=()) == self.model.clean(confirm=confirm)

    @rule(
        memory_ids=st.lists(stored, min_size=1, max_size=4, unique=True),
        ttl_days=st.none() | drawn.ttls,
        caller=drawn.owner_or_any,
    )
    def bring_back_from_the_archive(
        self, memory_ids: list[str], ttl_days: float | None, caller: Scope | None
    ) -> None:
        scope = self._caller(memory_ids[0], caller)
        results = self.run(self.noesis.retention.archiving.restore(scope, memory_ids, ttl_days))
        assert [each.id for each in results] == memory_ids
        for memory_id, result in zip(memory_ids, results, strict=True):
            assert result.outcome == self._outcome(memory_id, scope)
            if result.outcome == "restored":
                self.model.restore(memory_id, ttl_days)
                self._is_as_expected(self.run(self.noesis.browsing.get(scope, memory_id)))

    @precondition(lambda self: self.model.expired())
    @rule()
    def be_killed_in_the_middle_of_a_cleanup(self) -> None:
        """The copies are in the archive and the originals in the active table when everything ends."""
        with pytest.MonkeyPatch.context() as meanwhile:
            meanwhile.setattr(Table, "delete", killed)
            with pytest.raises(Killed):
                self.run(self.noesis.retention.cleaning.run(None, confirm=True))
        self.model.believed = self.clock()
        self.abandoned.append(self.stack)
        self.stack = AsyncExitStack()
        self.run(self._open())

    @rule()
    def do_the_upkeep(self) -> None:
        self.run(self.noesis.store.maintain(force=True))
        if self.has_crowd and not self.model.pending_rows():
            assert any(state.vector_index for state in self.run(self.noesis.store.states()))

    @rule()
    def export_all_and_import_it_here_and_elsewhere(self) -> None:
        """An export holds every memory once; where they are it adds nothing, an empty store becomes the same."""
        expected = {memory.id: self._moved(memory) for memory in self.model.memories.values()}
        found, again, elsewhere = self.run(round_trip(self.noesis, self.embedder, self.clock, ENVIRON))
        assert found == set(expected)
        assert (again.indexed, again.archived, again.errors, again.duplicates) == (0, 0, 0, len(expected))
        assert {memory_id: seen(memory) for memory_id, memory in elsewhere.items()} == expected

    @rule()
    def start_again(self) -> None:
        self.run(self.stack.aclose())
        self.run(self._open())

    @rule(query=drawn.queries, caller=drawn.callers)
    def search(self, query: SearchQuery, caller: Scope) -> None:
        call = self.noesis.search.search(caller, query)
        try:
            agents = readable(caller, cross_agent=query.cross_agent, agent=query.agent)
        except Refused:
            self.refused(call, Forbidden)
            return
        if query.mode is Mode.VECTOR and self.embedder.down and not self._has_vector_of(query.text):
            self.refused(call, EmbedderUnavailable)
            return
        result = self.run(call)
        assert not result.degraded or self.embedder.down
        meaning = not (query.mode is Mode.KEYWORD or result.degraded)
        self._answers(result, query, self.model.expected(query, agents, meaning=meaning))

    @rule(
        caller=drawn.callers,
        wanted=drawn.filters,
        limit=st.sampled_from([1, 7, 50, 200]),
        cross_agent=st.booleans(),
        agent=st.none() | drawn.agents,
        archived=st.booleans(),
    )
    def list_page_by_page(
        self,
        caller: Scope,
        wanted: MemoryFilter,
        limit: int,
        cross_agent: bool,
        agent: str | None,
        archived: bool,
    ) -> None:
        asked: dict[str, Any] = {"cross_agent": cross_agent, "agent": agent, "archived": archived}
        try:
            agents = readable(caller, cross_agent=cross_agent, agent=agent)
        except Refused:
            self.refused(self.noesis.browsing.page(caller, wanted, **asked), Forbidden)
            return
        expected = self.model.listed(agents, wanted, archived=archived)
        limit = limit if len(expected) < 50 else 50
        assert self._listed(caller, wanted, limit, **asked) == expected

    @invariant()
    def every_memory_is_listed_as_it_should_be(self) -> None:
        for archived in (False, True):
            expected = self.model.listed(AGENTS, MemoryFilter(), archived=archived)
            assert self._listed(EVERYBODY, MemoryFilter(), 200, archived=archived) == expected

    @invariant()
    def what_was_touched_last_is_found_by_its_word(self) -> None:
        """Or is not, when it is gone, whatever else happened since."""
        if self.touched not in self.model.memories:
            return
        memory = self._of(self.touched)
        word = memory.text.split()[-1]
        query = SearchQuery(text=word, mode=Mode.KEYWORD, limit=200, archive=ArchiveUse.ALWAYS)
        expected = self.model.expected(query, AGENTS, meaning=False)
        self._answers(self.run(self.noesis.search.search(EVERYBODY, query)), query, expected)

    @invariant()
    def a_time_span_begins_with_its_first_instant_and_ends_before_its_last(self) -> None:
        if self.touched not in self.model.memories:
            return
        instant = self._of(self.touched).created_at
        for wanted in (MemoryFilter(after=instant), MemoryFilter(before=instant)):
            page = self.run(self.noesis.browsing.page(EVERYBODY, wanted, limit=5))
            expected = self.model.listed(AGENTS, wanted, archived=False)
            assert [seen(memory) for memory in page.memories] == expected[:5]
            assert (page.cursor is None) == (len(expected) <= 5)

    @property
    def noesis(self) -> Noesis:
        return self.product.noesis

    def run(self, call: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(call)

    def refused(self, call: Coroutine[Any, Any, object], error: type[NoesisError]) -> None:
        with pytest.raises(error) as caught:
            self.run(call)
        assert type(caught.value) is error

    async def _open(self) -> None:
        opened = running(Path(self.directory.name), embedder=self.embedder, clock=self.clock, environ=ENVIRON)
        self.product: Product = await self.stack.enter_async_context(opened)
        # The embedder answers at once; only a machine that stands still could exceed a deadline.
        self.noesis.vectors._query_deadline_s = 60

    def _index_many(self, agent: str, news: Sequence[NewMemory]) -> list[str]:
        answers = self.run(self.noesis.indexing.index_many(Scope(agent), news))
        ids: list[str] = []
        for new, answer in zip(news, answers, strict=True):
            assert isinstance(answer, Indexed)
            self.model.index(agent, new, answer, pending=self.embedder.down)
            self.owners[answer.id] = agent
            ids.append(answer.id)
        return ids

    def _is_as_expected(self, memory: Memory) -> None:
        self.touched = memory.id
        assert seen(memory) == self._of(memory.id)
        assert (memory.chunks > 1) == (len(memory.text.split()) > 32)

    def _answers(self, result: SearchResult, query: SearchQuery, expected: Expected) -> None:
        """Each hit may be there, is whole and there once; when all fit into the answer, none is missing."""
        hits = {hit.memory.id: seen(hit.memory) for hit in result.hits}
        allowed = {memory.id: memory for memory in expected.memories}
        assert len(hits) == len(result.hits)
        assert hits == {memory_id: allowed.get(memory_id) for memory_id in hits}
        assert all(hit.memory.archived == (hit.memory.archived_at is not None) for hit in result.hits)
        if expected.complete:
            assert len(hits) == min(query.limit, len(allowed))
        else:
            assert 0 < len(hits) <= query.limit

    def _listed(self, caller: Scope, wanted: MemoryFilter, limit: int, **asked: Any) -> list[Remembered]:
        found: list[Remembered] = []
        cursor: str | None = None
        while True:
            call = self.noesis.browsing.page(caller, wanted, limit=limit, cursor=cursor, **asked)
            page = self.run(call)
            found += map(seen, page.memories)
            cursor = page.cursor
            assert cursor is None or len(page.memories) == limit
            if cursor is None:
                return found

    def _of(self, memory_id: str) -> Remembered:
        return self.model.memories[memory_id]

    def _moved(self, memory: Remembered) -> Remembered:
        """A memory after its way to another store: what had expired is archived, vectors are made anew."""
        memory = msgspec.structs.replace(memory, pending=self.embedder.down)
        if memory.archived_at is not None or memory.is_live(self.clock()):
            return memory
        return msgspec.structs.replace(memory, archived_at=self.clock(), reason=EXPIRED)

    def _caller(self, memory_id: str, caller: Scope | None) -> Scope:
        return caller or Scope(self.owners[memory_id])

    def _is_mine(self, memory_id: str, caller: Scope | None) -> bool:
        """Whether there is such a memory and it is the caller's; one that was purged is nobody's."""
        is_there = memory_id in self.model.memories
        return is_there and self._caller(memory_id, caller).agent in (None, self.owners[memory_id])

    def _outcome(self, memory_id: str, caller: Scope) -> str:
        """What bringing it back should come to."""
        if not self._is_mine(memory_id, caller):
            return "not_found"
        if self._of(memory_id).reason == DELETED:
            return "deleted"
        return "active" if self._of(memory_id).is_live(self.clock()) else "restored"

    def _has_vector_of(self, text: str) -> bool:
        """Whether a question was asked before: its vector is kept, so no embedder is needed."""
        return any(text in key for key in self.noesis.vectors._queries)


def test_the_product_answers_as_a_dict_of_memories_would() -> None:
    profile = settings(
        max_examples=6,
        stateful_step_count=25,
        deadline=None,
        derandomize=True,
        # Making a failure short takes minutes, which only the long run has.
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(MemoryMachine, settings=profile)


@pytest.mark.torture
@pytest.mark.timeout(3600)
def test_the_product_answers_as_a_dict_of_memories_would_for_long() -> None:
    profile = settings(
        max_examples=150,
        stateful_step_count=60,
        deadline=None,
        database=None,
        print_blob=True,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(MemoryMachine, settings=profile)
