"""Sentences of operations that pages know, so that they can be said in the language of the page.

They stand here as the operations write them, with a named place for what varies; `count` is a number, and
`reason` another sentence.  tests/dashboard/test_languages.py holds each against the code that says it.
"""

from __future__ import annotations

from noesis.dashboard.edit_form import NO_DAYS, NO_TYPE
from noesis.dashboard.search_form import NO_LIMIT, NOT_ONE_OF
from noesis.dashboard.source_form import LONG_LABEL
from noesis.dashboard.translation import gettext_noop, ngettext_noop
from noesis.errors import (
    Cancelled,
    Conflict,
    EmbedderError,
    Forbidden,
    InvalidInput,
    NoesisError,
    NotFound,
    QuotaExceeded,
    StoreError,
    TooLarge,
    TooManyRequests,
    Unauthorized,
)

LEADS: tuple[tuple[type[NoesisError], str], ...] = (
    (TooLarge, gettext_noop("That is too large:")),
    (InvalidInput, gettext_noop("That cannot be used:")),
    (Unauthorized, gettext_noop("You are not logged in:")),
    (Forbidden, gettext_noop("That is not allowed:")),
    (NotFound, gettext_noop("There is no such thing:")),
    (Cancelled, gettext_noop("It was stopped:")),
    (Conflict, gettext_noop("That is not possible now:")),
    (TooManyRequests, gettext_noop("Too much at once:")),
    (QuotaExceeded, gettext_noop("There is no room left for this agent:")),
    (EmbedderError, gettext_noop("The embedder gives no vectors:")),
    (StoreError, gettext_noop("The store could not do it:")),
)
"""What an error that is not known begins with, the nearest class first."""

_HEALTH = (
    gettext_noop("The data directory's disk is read-only: nothing can be stored or changed."),
    gettext_noop("Searching and reading."),
    gettext_noop("See in the system's log whether the disk has errors; mount it writable again."),
    gettext_noop("%(size)s GB are free on the data directory's disk."),
    gettext_noop("%(size)s MB are free on the data directory's disk."),
    gettext_noop("Only %(size)s MB are free on the data directory's disk."),
    gettext_noop("Everything, until the disk is full."),
    gettext_noop("Make room on that disk."),
    gettext_noop("The data directory's disk is full: nothing can be stored or changed."),
    gettext_noop("Make room on that disk; writing then goes on by itself."),
    gettext_noop("Look at the data directory and its disk; `noesis doctor` says more."),
    gettext_noop("Everything."),
    gettext_noop("After a power cut nothing: what was acknowledged had been synced before."),
    gettext_noop(
        "Without one the disk is at fault: look at it, and restore a backup if memories are missing."
    ),
    gettext_noop("Texts are stored and found by their words; vectors are filled in later."),
    gettext_noop("Nothing: it goes on by itself."),
    gettext_noop("No vector was needed yet."),
    gettext_noop("%(model)s answers."),
    gettext_noop("The embedding model is being downloaded."),
    gettext_noop("The embedding model is being downloaded (%(done)s %% of %(total)s MB)."),
    gettext_noop("Make all vectors anew with the new model: `noesis reembed`, which searches go on beside."),
    gettext_noop(
        "Or set NOESIS_EMBEDDER and NOESIS_EMBEDDING_MODEL to the former model again, or put that one back into Ollama."
    ),
    gettext_noop("See that Ollama has room and reaches its registry; the download is tried again by itself."),
    gettext_noop(
        "Start Ollama, or see in its log why it fails; NOESIS_OLLAMA_URL is where it is looked for."
    ),
    gettext_noop("Wait, if it is loading its model or has much to do; otherwise look at its log."),
    gettext_noop("Redis answers."),
    gettext_noop("Redis answers but takes no messages (%(why)s)."),
    gettext_noop("Give Redis more memory, or its disk more room."),
    gettext_noop("Redis may drop messages (its maxmemory-policy is %(policy)s, not noeviction)."),
    gettext_noop("Set maxmemory-policy to noeviction in Redis."),
    gettext_noop("The embedder has another version of %(model)s than the one that made the store's vectors."),
    gettext_noop(
        "The store's vectors are of %(stored)s (%(before)s dimensions), the embedder is %(model)s (%(now)s)."
    ),
    gettext_noop(
        "It is not used until the former model is back or the store is re-embedded (`noesis reembed`)."
    ),
    gettext_noop("No backup was made and no older one removed; `noesis verify` says more."),
    gettext_noop("This process has no Redis."),
    gettext_noop("Redis does not answer (%(why)s)."),
    gettext_noop("Start Redis, or look at NOESIS_REDIS_URL."),
    gettext_noop("Everything; background work starts a little later."),
    gettext_noop("Name one in NOESIS_REDIS_URL, or start `noesis up`, which brings its own."),
    gettext_noop("A worker is at work."),
    gettext_noop("No worker gave a sign of life within the last minute."),
    gettext_noop("Storing and searching; vectors, upkeep and other long work wait."),
    gettext_noop("Start it: `noesis worker`, or `noesis up` for everything in one process."),
    gettext_noop("Reached from this machine, or by HTTPS."),
    gettext_noop("The server listens on %(host)s without encryption."),
    gettext_noop("Everything, but passwords, tokens and memories can be read on the way."),
    gettext_noop("Put a proxy with HTTPS before it and set NOESIS_SECURE_COOKIES, or listen on 127.0.0.1."),
    gettext_noop("No folder is followed."),
    gettext_noop("%(indexed)s of %(all)s files in %(places)s followed places are in memory as they are."),
    gettext_noop("What was read is remembered; searching and everything else goes on."),
    gettext_noop("%(places)s cannot be reached; nothing of it was removed."),
    gettext_noop("Mount it again, or stop following it on the page Sources."),
    gettext_noop("Say on the page Sources whether they are meant to be gone."),
    gettext_noop("Changes are not noticed."),
    gettext_noop("Start the worker: `noesis worker`, or `noesis up` for everything in one process."),
    gettext_noop("Memory is behind its files for a while."),
    gettext_noop("Look at the jobs: a scan may be failing."),
    gettext_noop("No backups are scheduled."),
    gettext_noop("There was no good backup for two days."),
    gettext_noop("See on the page of jobs why backups fail, or make one: `noesis backup`."),
    gettext_noop("No backup was restored in a drill for too long."),
    gettext_noop("See on the page of jobs why the drill fails; the worker does it by itself."),
    gettext_noop("Since %(when)s UTC no backup was copied to %(address)s: %(reason)s"),
    gettext_noop("Backups are made and kept on this machine."),
    gettext_noop("Mend what it says; the next backup takes along what was not copied: `noesis backup`."),
    gettext_noop("None was copied to %(address)s yet."),
    gettext_noop("The newest in %(address)s is of %(when)s UTC."),
    gettext_noop("There is no backup yet."),
    gettext_noop("The newest backup is of %(when)s UTC and was verified."),
    gettext_noop("None was restored in a drill yet."),
    gettext_noop("The last proven restore was on %(when)s UTC."),
    gettext_noop("No cleanup has run yet."),
    gettext_noop("The last cleanup archived %(archived)s memories and purged %(purged)s."),
    gettext_noop("What has expired is in no answer all the same; nothing is lost."),
    gettext_noop("Look at it with `noesis cleanup --plan`; `noesis cleanup --confirm` does it."),
    gettext_noop("They are in no answer all the same, and the next cleanup tries again."),
    gettext_noop("Look at the log: the store may be damaged."),
    gettext_noop("The last upkeep failed: %(reason)s"),
    gettext_noop("Old versions of the tables wait to be removed."),
    gettext_noop("Everything; searches become slower and the disk fuller until it succeeds."),
    gettext_noop("Nothing at first: it is tried again by itself."),
    gettext_noop(
        "If it goes on, look at the disk and the worker's log, or start it by hand on the page of the system."
    ),
    gettext_noop("No agent was refused for its quota lately."),
    gettext_noop("New memories are refused, the quota is used up: %(agents)s."),
    gettext_noop("Searching, and storing for all other agents; followed files are read once there is room."),
    gettext_noop("Delete memories of the agent or give it a larger quota."),
)

_ERRORS = (
    NO_DAYS,
    NO_LIMIT,
    NO_TYPE,
    NOT_ONE_OF,
    LONG_LABEL,
    gettext_noop("This password is one that everybody tries first."),
    gettext_noop("Choose another."),
    gettext_noop("The password must have at least %(least)s characters."),
    gettext_noop("The password is set already."),
    gettext_noop("Log in with it."),
    gettext_noop("The password is not right."),
    gettext_noop("Too many wrong passwords."),
    gettext_noop("Try again in %(minutes)s minutes."),
    gettext_noop("The request comes from another site."),
    gettext_noop("There is nothing at this address."),
    gettext_noop("This address does not take that method."),
    gettext_noop("The body is over its limit."),
    gettext_noop("The request could not be read."),
    gettext_noop("The server made a mistake; its log has this request's id."),
    gettext_noop("There is no such job."),
    gettext_noop("There is no preview of this id."),
    gettext_noop("month must look like 2026-05."),
    gettext_noop("There is no memory with this id."),
    gettext_noop("cursor is not one that this list gave out."),
    gettext_noop("This memory is not deleted."),
    gettext_noop("%(count)s of them are there now, not %(shown)s."),
    gettext_noop("Nothing was changed."),
    gettext_noop("This cannot be undone any more."),
    gettext_noop("There is no finding with this id."),
    gettext_noop("This was decided before."),
    gettext_noop("One of these memories has changed since; look for duplicates again."),
    gettext_noop("There is nothing with this id in the inbox."),
    gettext_noop("text must not be empty or blank."),
    gettext_noop("text must have at most %(most)s characters."),
    gettext_noop("query must not be empty or blank."),
    gettext_noop("query must have at most %(most)s characters."),
    gettext_noop("At most %(most)s tags are allowed."),
    gettext_noop("A tag must have 1 to %(most)s visible characters."),
    gettext_noop("%(field)s must have 1 to %(most)s visible characters."),
    gettext_noop("%(field)s must lie between the years 1970 and 2100."),
    gettext_noop("An agent's name has 1 to 64 of a-z, 0-9, _ and -, and starts with a letter or digit"),
    gettext_noop("name must have 1 to %(most)s characters."),
    gettext_noop("An agent token is for exactly one agent."),
    gettext_noop("Name the agents of a gateway token, or * for any."),
    gettext_noop("path must be absolute: it is a folder of the server."),
    gettext_noop("path is no folder that the server can see."),
    gettext_noop("path holds the server's own data, which is not followed."),
    gettext_noop("There is no source with this key."),
    gettext_noop("%(agent)s has all of the %(most)s memories that it may have."),
    gettext_noop("Delete some, or ask an administrator for a larger quota; searching goes on."),
    gettext_noop(
        "The text holds what looks like a secret (%(kinds)s) and this agent's policy is to refuse it; leave the secret out and send the text again"
    ),
    gettext_noop("There is no room left on the disk: nothing was written, reading goes on."),
    gettext_noop("The data directory is read-only: nothing was written, reading goes on."),
    gettext_noop("The data directory cannot be written; reading goes on."),
    gettext_noop("Another process holds the store for too long; nothing was written."),
    gettext_noop("The embedder did not answer within %(seconds)s s."),
    gettext_noop("The embedder does not answer."),
    gettext_noop("Answered by keyword only: %(reason)s"),
    gettext_noop("It was cancelled; nothing was changed."),
    gettext_noop("There is no backup yet that a drill could restore."),
    gettext_noop("There is no backup of this name."),
    gettext_noop("There is a backup of this name already."),
    gettext_noop(
        "A backup's name is of letters, digits, . _ and - and ends with %(plain)s or %(encrypted)s."
    ),
    gettext_noop("%(name)s is damaged, was cut short, or is no backup of Noesis: its seal does not fit."),
    gettext_noop("%(name)s is encrypted: name its key file in NOESIS_BACKUP_KEY_FILE."),
    gettext_noop("%(name)s is damaged, or encrypted to another key than this one."),
    gettext_noop("This backup is another instance's."),
    gettext_noop(
        "Its memories would take the place of those here; say so (--foreign) if that is what you want."
    ),
    gettext_noop("There is no restore and no re-embedding that could be undone."),
    gettext_noop("Name an agent, a source or memories."),
    gettext_noop("No bucket is set: name it in NOESIS_BACKUP_S3_BUCKET."),
    gettext_noop("A commit is named by 7 to 40 hexadecimal digits."),
    gettext_noop("No remote is set: name it in NOESIS_GIT_LFS_REPO."),
    gettext_noop("A snapshot is being taken already."),
    gettext_noop("The store has no vectors yet: they are made by the embedder of the settings anyway."),
)

_WHY_NOT = (
    gettext_noop("It belongs to the agent %(agent)s; the search looked at %(searched)s."),
    gettext_noop("Search as that agent, or across agents."),
    gettext_noop("It was deleted."),
    gettext_noop("Undo the deletion on its page."),
    gettext_noop("It does not fit the filter %(name)s."),
    gettext_noop("Search without %(name)s."),
    gettext_noop("It has expired and waits for the cleanup, which moves it to the archive."),
    gettext_noop("Give it a longer life on its page."),
    gettext_noop("It is archived, and the archive was not searched."),
    gettext_noop("Search with archive=always."),
    gettext_noop("Only the archive was searched, and it is not archived."),
    gettext_noop("Search with archive=auto."),
    gettext_noop("It is archived; the archive is only searched when hardly any living memory fits."),
    gettext_noop("Search with mode=hybrid."),
    gettext_noop("Use words that it holds, or narrow the search by type, tag, session or time."),
    gettext_noop("The search went by words only."),
    gettext_noop("It has no vector yet, so it cannot be found by meaning."),
    gettext_noop("By meaning its similarity is %(value)s."),
    gettext_noop("By meaning its similarity is %(value)s, the last of the %(many)s nearest has %(last)s."),
    gettext_noop("The search went by meaning only."),
    gettext_noop("It shares no word with the question."),
    gettext_noop(
        "It shares %(shared)s of the question's %(all)s words, and %(others)s others fit better by words."
    ),
    gettext_noop("It was candidate %(rank)s of %(all)s by score; %(limit)s were asked for."),
    gettext_noop("Search with a limit of %(limit)s."),
    gettext_noop("Narrow the search, or use words that it holds."),
    gettext_noop("It is hit %(place)s of this search."),
    gettext_noop("By score alone it would be hit %(rank)s, but it says nearly the same as hits above it."),
)

_LIKENESS = (
    gettext_noop("The same words."),
    gettext_noop("Other words stand in the same place."),
    gettext_noop("The same words in another form or order."),
    gettext_noop("One says much more."),
    gettext_noop("One holds for some alone."),
    gettext_noop("One says what the other says, and a little more."),
    gettext_noop("One asks, the other states."),
    gettext_noop("The numbers differ."),
    gettext_noop("The signs differ."),
    gettext_noop("One denies what the other says."),
    gettext_noop("The names differ."),
    gettext_noop("The days or times differ."),
    gettext_noop("One is less certain than the other."),
    gettext_noop("One speaks of the past."),
    gettext_noop("A word that narrows it differs."),
    gettext_noop("They speak of different people."),
    gettext_noop("The names stand in another order."),
    gettext_noop("The words stand in another order."),
    gettext_noop("merge into %(memory)s"),
)

_EVENTS = (
    gettext_noop("No backup was made: %(reason)s"),
    gettext_noop("%(name)s: %(memories)s memories, verified."),
    gettext_noop("The drill failed: %(reason)s"),
    gettext_noop("%(archived)s archived, %(purged)s purged."),
    gettext_noop("Files are looked at by polling from now on: %(why)s."),
    gettext_noop(
        "%(count)s of %(known)s files vanished at once from %(label)s; say whether they are meant to be gone."
    ),
    gettext_noop("%(count)s rows of %(table)s are damaged: their hashes do not fit."),
    gettext_noop("A search did not find its own row (%(asked)s)."),
)

SENTENCES = (*_HEALTH, *_ERRORS, *_WHY_NOT, *_LIKENESS, *_EVENTS)
"""Every known sentence."""

COUNTED = (
    ngettext_noop("%(count)s rows are readable.", "%(count)s rows are readable."),
    ngettext_noop("%(count)s text waits for its vector.", "%(count)s texts wait for their vectors."),
    ngettext_noop(
        "%(indexed)s of %(count)s files in one followed place are in memory as they are.",
        "%(indexed)s of %(count)s files in one followed place are in memory as they are.",
    ),
    ngettext_noop("%(count)s could not be read.", "%(count)s could not be read."),
    ngettext_noop(
        "%(count)s changed or vanished and will be looked at.",
        "%(count)s changed or vanished and will be looked at.",
    ),
    ngettext_noop(
        "%(count)s files vanished at once; their memories were kept.",
        "%(count)s files vanished at once; their memories were kept.",
    ),
    ngettext_noop("%(count)s could not be moved.", "%(count)s could not be moved."),
    ngettext_noop(
        "The tables lie in %(count)s piece and take %(size)s MB.",
        "The tables lie in %(count)s pieces and take %(size)s MB.",
    ),
)
"""Known sentences with a count that languages bend words after."""
