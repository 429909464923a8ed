"""How many outputs of predictions one process writes at the same time. Each has a page of rows in memory."""

from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

from fastapi import Depends, Request

from app.errors import Busy, TooManyOutputs

MOST_OUTPUTS, MOST_OF_OWNER = 16, 2
_RETRY_AFTER_SECONDS = 5


class Outputs:
    """The outputs that clients are reading. All calls must come from the event loop of the process."""

    def __init__(self) -> None:
        self._open = Counter[str]()

    @contextmanager
    def hold(self, owner_id: str) -> Iterator[None]:
        """Hold a place until the block ends.

        Raises:
            TooManyOutputs: the owner reads as many as one owner may.
            Busy: all owners together read as many as this process writes.
        """
        if self._open[owner_id] >= MOST_OF_OWNER:
            raise TooManyOutputs(
                f"you are reading {MOST_OF_OWNER} outputs already, the most at the same time; repeat the request when "
                "one has ended",
                headers={"Retry-After": str(_RETRY_AFTER_SECONDS)},
            )
        if self._open.total() >= MOST_OUTPUTS:
            raise Busy("as many outputs are read as this process writes at the same time; repeat the request later")
        self._open[owner_id] += 1
        try:
            yield
        finally:
            self._open[owner_id] -= 1
            self._open += Counter()  # forgets owners without an output


async def _hold_place(request: Request) -> AsyncIterator[None]:
    outputs: Outputs = request.app.state.outputs
    with outputs.hold(request.state.owner_id):
        yield


OUTPUT_PLACE = Depends(_hold_place, scope="request")
"""Held until the response was sent."""
