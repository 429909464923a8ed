"""What is remembered of the keys, for some seconds."""

import asyncio
import itertools
from typing import Any, cast

import pytest
from cachetools import TTLCache

from app.store.keys import KeyLookup


@pytest.fixture
def lookup() -> KeyLookup:
    return KeyLookup(cast(Any, None), lifetime_seconds=5.0)


def test_answer_that_expires_while_it_is_looked_up_is_asked_again(lookup: KeyLookup) -> None:
    moments = itertools.count()
    answers: TTLCache[str, int] = TTLCache(1, 1.5, timer=lambda: next(moments))  # each look is a second later
    found = itertools.count()

    async def ask() -> list[int]:
        return [await lookup._remember(answers, "any", lambda _: next(found)) for _ in range(20)]

    said = asyncio.run(ask())
    assert said == sorted(said)
