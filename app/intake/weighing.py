"""How much the datasets weigh that a submission names: few bytes are worked on beside other requests."""

import re
from collections.abc import Collection
from dataclasses import replace

from fastapi import Request
from sqlalchemy import func, select
from starlette.concurrency import run_in_threadpool

from app.intake.submissions import JsonSubmission, RawSubmission
from app.services import Services
from app.store.tables import Dataset

_MOST_NAMED = 10
_ID = re.compile(rb"\bds_[0-9a-z]{26}\b")


async def weigh(request: Request, submission: RawSubmission) -> RawSubmission:
    """The submission, with the size of the stored datasets that it names, where that decides."""
    if not isinstance(submission, JsonSubmission) or not submission.depends_on_datasets:
        return submission
    ids = {id_.decode() for id_ in _ID.findall(submission.raw)}
    return replace(submission, stored_bytes=await find_stored_bytes(request, ids))


async def find_stored_bytes(request: Request, dataset_ids: Collection[str]) -> int | None:
    """The size of datasets of the caller (bytes); None for more than a submission can name."""
    if len(dataset_ids) > _MOST_NAMED:
        return None
    services: Services = request.app.state.services
    named = (Dataset.owner_id == request.state.owner_id, Dataset.id.in_(dataset_ids))

    def find() -> int:
        with services.database.session_scope() as session:
            return int(session.scalar(select(func.sum(Dataset.num_bytes)).where(*named)) or 0)

    return await run_in_threadpool(find)
