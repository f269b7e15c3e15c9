"""Every error the product raises on purpose.

    NoesisError
    ├── InvalidInput              400  a value is wrong; `field` names it
    │   ├── TooLarge              413  a value or body is over its limit
    │   └── BackupRefused         400  an archive is damaged, hostile, or not this instance's
    ├── Unauthorized              401  no token, or one that is not known
    ├── Forbidden                 403  known, but not allowed to do this
    ├── NotFound                  404  absent, or another agent's: the same answer
    ├── Conflict                  409  the state does not allow it (any more)
    │   └── Cancelled             409  somebody asked for it to stop; nothing was changed
    ├── TooManyRequests           429  slow down; `retry_after_s` says for how long
    ├── QuotaExceeded             429  the agent has as many memories as it may have; nothing was stored
    ├── SettingsError             exit 2: a NOESIS_* variable is wrong or unknown
    ├── EmbedderError
    │   ├── EmbedderUnavailable   503  does not answer; try again later
    │   ├── EmbedderMismatch      503  answers, but is not the model this store was made with
    │   └── EmbeddingRejected     422  the embedder will never take this one text
    ├── StoreError                500
    │   ├── StoreBusy             503  could not get its turn to commit
    │   ├── StoreFull             507  no room on the disk; reading goes on
    │   ├── StoreReadOnly         507  the data directory cannot be written; reading goes on
    │   └── StoreIncompatible     500  written by a newer version of Noesis
    ├── SnapshotFailed            502  Git or its remote failed; the snapshot itself is kept
    ├── BucketFailed              502  the bucket of the backups failed; the backup here is kept
    └── QueueUnavailable          503  Redis does not answer; nothing is lost

Class attributes say how each one leaves the product: `status_code` and `code` over HTTP,
`exit_code` from the command line, `retryable` to a job.  The message is written for the
person who reads it: what happened, what still works, what to do.  It never holds memory text.
"""

from __future__ import annotations


class NoesisError(Exception):
    """Base of every error above."""

    status_code: int = 500
    code: str = "internal_error"
    title: str = "Something went wrong"
    exit_code: int = 1
    retryable: bool = False

    def __init__(self, message: str, *, field: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.field = field


class InvalidInput(NoesisError):
    """A value is wrong; `field` names which."""

    status_code = 400
    code = "invalid_input"
    title = "The request is not valid"
    exit_code = 2


class TooLarge(InvalidInput):
    """A value or a body is over its limit."""

    status_code = 413
    code = "too_large"
    title = "The request is too large"


class BackupRefused(InvalidInput):
    """An archive is damaged, hostile, encrypted to another key, or another instance's; nothing was touched."""

    code = "backup_refused"
    title = "This backup cannot be used"


class Unauthorized(NoesisError):
    """No token, or one that is not known (any more)."""

    status_code = 401
    code = "unauthorized"
    title = "A valid token is needed"
    exit_code = 3


class Forbidden(NoesisError):
    """The caller is known but may not do this."""

    status_code = 403
    code = "forbidden"
    title = "Not allowed"
    exit_code = 3


class NotFound(NoesisError):
    """There is no such thing, or it belongs to somebody else: the answer is the same."""

    status_code = 404
    code = "not_found"
    title = "Not found"
    exit_code = 4


class Conflict(NoesisError):
    """The present state does not allow it."""

    status_code = 409
    code = "conflict"
    title = "Not possible in the present state"
    exit_code = 5


class Cancelled(Conflict):
    """Somebody asked for the work to stop, and it did; nothing was changed."""

    code = "cancelled"
    title = "Cancelled"


class TooManyRequests(NoesisError):
    """Too many requests in too short a time."""

    status_code = 429
    code = "too_many_requests"
    title = "Too many requests"
    exit_code = 6
    retryable = True

    def __init__(self, message: str, *, retry_after_s: int = 30) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class QuotaExceeded(NoesisError):
    """The agent has as many memories as it may have; waiting alone does not help."""

    status_code = 429
    code = "quota_exceeded"
    title = "The quota is used up"
    exit_code = 6


class SettingsError(NoesisError):
    """A NOESIS_* variable is wrong or unknown; the start stops."""

    code = "settings"
    title = "The settings are not valid"
    exit_code = 2


class EmbedderError(NoesisError):
    """Base of what can go wrong with the embedder."""

    status_code = 503
    code = "embedder"
    title = "The embedder failed"
    exit_code = 7


class EmbedderUnavailable(EmbedderError):
    """The embedder does not answer or is overloaded; the same call may work later."""

    code = "embedder_unavailable"
    title = "The embedder does not answer"
    retryable = True


class EmbedderMismatch(EmbedderError):
    """The embedder is not the model whose vectors this store holds; vectors are never mixed."""

    code = "embedder_mismatch"
    title = "The embedder is another model than the store's"


class EmbeddingRejected(EmbedderError):
    """The embedder answers, but will never embed this one text."""

    status_code = 422
    code = "embedding_rejected"
    title = "This text cannot be embedded"


class StoreError(NoesisError):
    """Base of what can go wrong with the store."""

    code = "store"
    title = "The store failed"
    exit_code = 8


class StoreBusy(StoreError):
    """The commit did not get its turn in time; nothing was written."""

    status_code = 503
    code = "store_busy"
    title = "The store is busy"
    retryable = True


class StoreFull(StoreError):
    """There is no room on the disk; nothing was written, reading goes on."""

    status_code = 507
    code = "store_full"
    title = "The disk is full"


class StoreReadOnly(StoreError):
    """The data directory cannot be written; reading goes on."""

    status_code = 507
    code = "store_read_only"
    title = "The data directory is read-only"


class StoreIncompatible(StoreError):
    """The store was written by a newer version; nothing is touched."""

    code = "store_incompatible"
    title = "The store needs a newer version of Noesis"


class SnapshotFailed(NoesisError):
    """Git or the remote of the snapshots failed; `again` says whether another try may help."""

    status_code = 502
    code = "snapshot"
    title = "The snapshot failed"
    exit_code = 9

    def __init__(self, message: str, *, again: bool = False) -> None:
        super().__init__(message)
        self.retryable = again


class BucketFailed(NoesisError):
    """The bucket that backups are copied to refused or failed; `again` says whether another try may help."""

    status_code = 502
    code = "bucket"
    title = "The bucket of the backups failed"
    exit_code = 9

    def __init__(self, message: str, *, again: bool = False) -> None:
        super().__init__(message)
        self.retryable = again


class QueueUnavailable(NoesisError):
    """Redis does not answer; the work is in the ledger and is done when it is back."""

    status_code = 503
    code = "queue_unavailable"
    title = "The queue does not answer"
    exit_code = 9
    retryable = True
