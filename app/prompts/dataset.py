"""Makes a dataset of the examples of a name, from which a new selection can start."""

from app.datasets.service import StoredDataset, keep_rows
from app.errors import NoPool
from app.intake.bodies import parsing_limits
from app.intake.refusals import invalid_inputs
from app.prompts import service
from app.prompts.added_examples import Known
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
        found = service.read(services, session, owner_id, name)
    if found.pool is None:
        raise NoPool("the prompt has no pool; take the dataset of its selection")
    pool = found.pool.load()
    rows = {row.row: (row.text, row.label) for row in pool.rows} | dict(Known.of(found, pool).shown)
    with invalid_inputs(inline=True):
        listed = [{"text": text, "label": label} for _, (text, label) in sorted(rows.items())]
        parsed = parse_inline(listed, parsing_limits(services.settings))
    with services.database.session_scope() as session:
        return keep_rows(session, owner_id, services.settings, parsed, name)
