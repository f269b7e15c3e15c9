"""The durable record of jobs in the control database."""

from noesis.ledger.ledger import Ledger
from noesis.ledger.table import (
    ENDED,
    LIVE,
    STATES,
    Beat,
    Job,
    JobArgs,
    JobState,
    NewJob,
    Standing,
)
from noesis.ledger.views import JobFilter, JobPage

__all__ = [
    "ENDED",
    "LIVE",
    "STATES",
    "Beat",
    "Job",
    "JobArgs",
    "JobFilter",
    "JobPage",
    "JobState",
    "Ledger",
    "NewJob",
    "Standing",
]
