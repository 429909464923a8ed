"""Figures of a name on newer texts: kept with the version that was judged."""

from sqlalchemy.orm import Session

from app.answers.classify_schemas import EvaluationOut, EvaluationPage
from app.answers.files import Measured
from app.dependencies import Page
from app.ids import encode_cursor
from app.prompts import service
from app.services import Services
from app.store import prompts as repository
from app.store.prompt_tables import PromptEvaluation
from app.store.quota import check_bytes, lock_owner
from app.web.parameters import read_last_number

_MOST_DIGITS = 18
"""Of the number of figures, which has 64 bits."""


def keep_figures(services: Services, owner_id: str, name: str, measured: Measured) -> EvaluationOut:
    """Keep figures with the current version of a name, if that was asked.

    Raises:
        NotFound: the name was deleted meanwhile.
        OwnerFull: the owner has too many bytes stored.
    """
    with services.database.session_scope() as session:
        version = service.get(session, owner_id, name).version
        made = PromptEvaluation(
            owner_id=owner_id,
            name=name,
            version=version,
            title=measured.title,
            result=measured.result.model_dump(mode="json"),
        )
        if measured.keep:
            lock_owner(session, owner_id, services.settings)
            session.add(made)
            session.flush()
            check_bytes(session, owner_id, services.settings)
        return present(made)


def list_figures(session: Session, owner_id: str, name: str, page: Page) -> EvaluationPage:
    """One page of the figures of a name, newest first.

    Raises:
        NotFound: the owner has no prompt with this name.
    """
    service.get(session, owner_id, name)
    before = read_last_number(page.last_id, _MOST_DIGITS, "cursor", "evaluations")
    found = repository.list_evaluations(session, owner_id, name, before, page.limit)
    items = [present(one) for one in found[: page.limit]]
    return EvaluationPage(items=items, next=encode_cursor(str(items[-1].id)) if len(found) > page.limit else None)


def present(one: PromptEvaluation) -> EvaluationOut:
    return EvaluationOut.model_validate(one)
