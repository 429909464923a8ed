"""The number of workers is asked of Redis now and then, not at every poll."""

from collections.abc import Mapping

from redis.exceptions import ConnectionError as RedisAway

from app.store.queue import Pause, WorkerCount


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_redis_is_asked_every_few_seconds() -> None:
    clock, answers = Clock(), iter([{"q": 2}, {"q": 3}])
    count = WorkerCount(lambda: next(answers), clock)
    assert [count.get() for _ in range(5)] == [{"q": 2}] * 5
    clock.now += 6
    assert count.get() == {"q": 3}


def test_redis_that_is_away_is_not_asked_at_every_poll() -> None:
    asked = []

    def fail() -> dict[str, int]:
        asked.append(1)
        raise RedisAway

    count = WorkerCount(fail, Clock())
    assert [count.get() for _ in range(5)] == [None] * 5
    assert len(asked) == 1


def test_other_threads_do_not_wait_for_the_one_that_asks() -> None:
    nested: list[Mapping[str, int] | None] = []

    def ask() -> dict[str, int]:
        nested.append(count.get())
        return {"q": 4}

    count = WorkerCount(ask)
    assert count.get() == {"q": 4}
    assert nested == [None]


def test_pause_ends_by_itself() -> None:
    clock = Clock()
    pause = Pause(5, clock)
    assert not pause.is_on
    pause.begin()
    clock.now += 4.9
    assert pause.is_on
    clock.now += 0.2
    assert not pause.is_on
