"""Who goes first, when to stop asking, and how much to ask at once."""

from __future__ import annotations

import threading

import numpy as np

from noesis.embedding.breaker import CircuitBreaker
from noesis.embedding.in_process import batches_by_length
from noesis.embedding.pace import Pace, next_batch
from noesis.embedding.turns import Turns


def test_urgent_work_goes_before_ordinary_work_that_waited_longer() -> None:
    turns, order = Turns(), list[str]()
    held, begun = threading.Event(), threading.Event()

    def holder() -> None:
        with turns.ordinary():
            begun.set()
            held.wait(5)

    def ordinary() -> None:
        with turns.ordinary():
            order.append("ordinary")

    def urgent() -> None:
        with turns.urgent():
            order.append("urgent")

    first = threading.Thread(target=holder)
    first.start()
    begun.wait(5)
    waiting = [threading.Thread(target=work) for work in (ordinary, ordinary, urgent)]
    for thread in waiting:
        thread.start()
    while turns.waiting < 3:
        threading.Event().wait(0.001)
    held.set()
    for thread in (first, *waiting):
        thread.join(5)
    assert order == ["urgent", "ordinary", "ordinary"]


def test_after_urgent_work_patient_work_pauses_for_what_comes_next() -> None:
    turns, order = Turns(pause_s=0.5), list[str]()

    def ordinary() -> None:
        with turns.ordinary(patient=True):
            order.append("ordinary")

    calm = [turns.is_calm]
    with turns.urgent():
        order.append("urgent")
    calm.append(turns.is_calm)
    assert calm == [True, False]
    waiting = threading.Thread(target=ordinary)
    waiting.start()
    while turns.waiting < 1:
        threading.Event().wait(0.001)
    with turns.urgent():
        order.append("urgent")
    waiting.join(5)
    assert order == ["urgent", "urgent", "ordinary"]


def test_patient_work_pauses_but_once_however_much_is_urgent() -> None:
    turns, done = Turns(pause_s=0.05), threading.Event()

    def ordinary() -> None:
        with turns.ordinary(patient=True):
            done.set()

    with turns.urgent():
        pass
    waiting = threading.Thread(target=ordinary)
    waiting.start()
    for _ in range(1000):
        with turns.urgent():
            pass
        if done.wait(0.01):
            break
    waiting.join(5)
    assert done.is_set()


def test_a_turn_is_given_back_when_its_work_fails() -> None:
    turns = Turns()
    for hold in (turns.ordinary, turns.urgent, turns.ordinary):
        try:
            with hold():
                raise ValueError
        except ValueError:
            pass
    assert turns.waiting == 0


def test_the_breaker_opens_after_three_failures_in_a_row() -> None:
    breaker = CircuitBreaker(lambda: 0.0)
    for _ in range(2):
        breaker.failed()
    breaker.succeeded()
    for _ in range(2):
        breaker.failed()
    assert not breaker.is_open
    breaker.failed()
    assert breaker.is_open


def test_an_open_breaker_gives_one_probe_an_interval() -> None:
    now = [0.0]
    breaker = CircuitBreaker(lambda: now[0])
    for _ in range(3):
        breaker.failed()
    probes = 0
    for second in range(61):
        now[0] = float(second)
        probes += sum(breaker.claim_probe() for _ in range(5))
    assert probes == 6


def test_after_a_probe_one_failure_opens_it_again() -> None:
    breaker = CircuitBreaker(lambda: 0.0)
    for _ in range(9):
        breaker.failed()
    breaker.probe_succeeded()
    assert not breaker.is_open
    breaker.failed()
    assert breaker.is_open


def test_requests_shrink_for_a_slow_server_and_grow_for_a_quick_one() -> None:
    pace = Pace()
    first = pace.tokens
    for _ in range(30):
        pace.answered(100, 1.0)
    slow = pace.tokens
    for _ in range(30):
        pace.answered(100, 0.001)
    assert slow < first < pace.tokens
    for _ in range(50):
        pace.timed_out()
    assert pace.tokens == 64


def test_a_batch_holds_at_least_one_text_and_no_more_than_allowed() -> None:
    texts = ["word " * 500, "a", "b", "c", "d"]
    assert next_batch(texts, 0, 32, 100) == 1
    assert next_batch(texts, 1, 32, 100) == 5
    assert next_batch(texts, 1, 2, 100) == 3
    assert next_batch(texts, 1, 32, 2) == 3


def test_local_batches_hold_texts_of_like_length_within_the_limit() -> None:
    lengths = [5, 200, 7, 256, 6, 90, 8, 300]
    windows = [np.zeros(length, dtype=np.int32) for length in lengths]
    batches = list(batches_by_length(windows, lambda: 256))
    assert sorted(at for batch in batches for at in batch) == list(range(len(lengths)))
    for batch in batches:
        assert len(batch) == 1 or len(batch) * max(lengths[at] for at in batch) <= 256
    assert [0, 4, 2, 6] in batches


def test_the_limit_is_asked_for_each_batch() -> None:
    windows = [np.zeros(10, dtype=np.int32)] * 12
    limits = iter([40] * 5 + [20] * 20)
    assert [len(batch) for batch in batches_by_length(windows, lambda: next(limits))] == [4, 2, 2, 2, 2]
