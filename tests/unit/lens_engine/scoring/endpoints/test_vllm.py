"""What vLLM says of itself, and what it may leave out."""

import asyncio

import pytest

from lens_engine.errors import EndpointError
from lens_engine.scoring.endpoints.gate import Gate
from tests.endpoints.double import Double
from tests.unit.lens_engine.scoring.endpoints.conftest import Connect


def test_gateway_without_a_version_is_asked_all_the_same(connect: Connect, double: Double) -> None:
    double.version = None
    assert (connect().identity.executor_note or "").startswith("vllm None")


def test_server_that_does_not_say_its_context_needs_it(connect: Connect, double: Double) -> None:
    double.context = None
    with pytest.raises(EndpointError, match="give the context"):
        connect()
    assert connect(context=512).max_prompt_tokens == 512


def test_request_that_is_cancelled_while_it_is_held_gives_its_place_back() -> None:
    async def cancel_one() -> int:
        gate = Gate(2)
        gate.hold(60, narrows=False)
        waiting = asyncio.create_task(gate.__aenter__())
        await asyncio.sleep(0.01)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        return gate._now

    assert asyncio.run(cancel_one()) == 0
