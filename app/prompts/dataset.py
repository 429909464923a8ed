"""Makes a dataset of the examples of a name, from which a new selection can start."""

from dataclasses import dataclass

from app.datasets.service import StoredDataset, keep_rows
from app.errors import NoPool
from app.intake.refusals import invalid_inputs
from app.intake.submissions import NoSubmission, parsing_limits
from app.prompts.added_examples import KnownRows
from app.prompts.finding import PromptFinder
from app.services import Services
from lens_engine.reading import parse_inline


@dataclass(frozen=True, slots=True)
class CopyingExamples:
    """The work of POST /prompts/{name}/dataset: to store the pool with the support examples as a dataset."""

    name: str

    def __call__(
        self,
        services: Services,
        owner_id: str,
        submission: NoSubmission,  # noqa: ARG002
        key: str | None,  # noqa: ARG002
    ) -> StoredDataset:
        with services.database.session_scope() as session:
            found = PromptFinder(services, owner_id, self.name).read_current(session)
        if found.pool is None:
            raise NoPool("the prompt has no pool; take the dataset of its selection")
        rows = KnownRows.of(found, found.pool.load()).rows
        with invalid_inputs(inline=True):
            listed = [{"text": text, "label": label} for _, (text, label) in sorted(rows.items())]
            parsed = parse_inline(listed, parsing_limits(services.settings))
        with services.database.session_scope() as session:
            return keep_rows(session, owner_id, services.settings, parsed, self.name)
