"""Large work that no submission brings: looks at stored datasets, in the reader, after what came before."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import Request
from starlette.concurrency import run_in_threadpool

from app.intake.admission import Admission
from app.intake.intake import Intake
from app.intake.order import Work
from app.intake.submissions import NoSubmission


@asynccontextmanager
async def holding_place(request: Request) -> AsyncIterator[None]:
    """Wait for the place of large work without a thread, and hold it.

    Raises:
        Busy: too much work waits, of all owners or of this one.
    """
    admission: Admission = request.app.state.admission
    owner_id = request.state.owner_id
    with admission.admit(owner_id):
        async with admission.take_place(owner_id, is_large=True):
            yield


async def do_large(request: Request, work: Work) -> Any:
    """Do the work. Raises what the work raises, and the errors of `holding_place`."""
    intake: Intake = request.app.state.intake
    async with holding_place(request):
        return await run_in_threadpool(intake.do, request.state.owner_id, work, NoSubmission())
