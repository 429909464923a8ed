"""Makes a dataset of the examples of a name, from which a new selection can start."""

from app.datasets.service import StoredDataset, keep_rows
from app.errors import NoPool
from app.intake.bodies import parsing_limits
from app.intake.refusals import invalid_inputs
from app.prompts.added_examples import KnownRows
from app.prompts.finding import PromptFinder
from app.services import Services
from lens_engine.reading import parse_inline


def copy_examples(services: Services, owner_id: str, name: str) -> StoredDataset:
    """Store the pool of a name with its support examples as a dataset.

    Raises:
        NotFound: there is no such name.
        NoPool: its prompts find no examples for an input.
        OwnerFull: the owner has too many bytes stored.
    """
    with services.database.session_scope() as session:
        found = PromptFinder(services, owner_id, name).read_current(session)
    if found.pool is None:
        raise NoPool("the prompt has no pool; take the dataset of its selection")
    rows = KnownRows.of(found, found.pool.load()).rows
    with invalid_inputs():
        listed = [{"text": text, "label": label} for _, (text, label) in sorted(rows.items())]
        parsed = parse_inline(listed, parsing_limits(services.settings))
    with services.database.session_scope() as session:
        return keep_rows(session, owner_id, services.settings, parsed, name)
