"""The paper's eight datasets on the Hugging Face hub: repositories, columns and labels."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from lens_engine.errors import InvalidDataset
from lens_engine.task.paper_tasks import PAPER_TASKS
from lens_engine.types import Example

Row = Mapping[str, Any]
Fetch = Callable[[str, str], Iterable[Row]]
"""The rows of a split of a repository."""


@dataclass(frozen=True, slots=True)
class HubDataset:
    """The names that a repository uses for a dataset's columns and labels. The splits are "train" and "test"."""

    repository: str
    labels: Mapping[str, str]  #: value in the label column -> our label
    text: str = "text"  #: columns
    label: str = "label_text"


def _same(name: str) -> dict[str, str]:
    return {label: label for label in PAPER_TASKS[name].words}


def _numbered(name: str) -> dict[str, str]:
    """The repository numbers the labels in the paper's order."""
    return {str(number): label for number, label in enumerate(PAPER_TASKS[name].words)}


HUB_DATASETS: dict[str, HubDataset] = {
    "sst-2": HubDataset("SetFit/sst2", _same("sst-2")),
    "sst-5": HubDataset("SetFit/sst5", _same("sst-5")),
    "amazon": HubDataset(
        "SetFit/amazon_reviews_multi_en",
        {str(4 - number): label for number, label in enumerate(PAPER_TASKS["amazon"].words)},  # 0 is one star
        label="label",
    ),
    "mr": HubDataset("cornell-movie-review-data/rotten_tomatoes", {"0": "negative", "1": "positive"}, label="label"),
    "subj": HubDataset("SetFit/subj", _same("subj")),
    "trec": HubDataset(
        "SetFit/TREC-QC",
        {
            "DESC": "description",
            "ENTY": "entity",
            "ABBR": "abbreviation",
            "HUM": "human",
            "LOC": "location",
            "NUM": "number",
        },
        label="label_coarse_original",
    ),
    "agnews": HubDataset("fancyzhx/ag_news", _numbered("agnews"), label="label"),
    "dbpedia": HubDataset("fancyzhx/dbpedia_14", _numbered("dbpedia"), text="content", label="label"),
}


def read_hub_rows(source: HubDataset, split: str, fetch: Fetch | None = None) -> tuple[Example, ...]:
    """The rows of a split, in their order.

    Raises:
        InvalidDataset: the package `datasets` is not installed, the hub does not answer, or its rows are
            not as expected.
    """
    rows = (fetch or _fetch)(source.repository, split)
    return tuple(_read_row(number, row, source) for number, row in enumerate(rows))


def _read_row(number: int, row: Row, source: HubDataset) -> Example:
    raw = str(row.get(source.label))
    if raw not in source.labels or not isinstance(row.get(source.text), str):
        raise InvalidDataset(
            f"{source.repository}: unexpected value in column {source.text!r} or {source.label!r} (label {raw!r}); "
            "the repository has changed: give a folder with the files instead",
            field="dataset",
            row=number,
        )
    return Example(number, row[source.text], source.labels[raw])


def _fetch(repository: str, split: str) -> Iterable[Row]:
    try:
        hub = import_module("datasets")
    except ImportError as error:
        raise InvalidDataset(
            "a dataset of the hub needs the package `datasets`: pip install datasets; or give a folder with the files",
            field="dataset",
        ) from error
    try:
        rows: Iterable[Row] = hub.load_dataset(repository, split=split)
    except Exception as error:
        raise InvalidDataset(f"{repository} cannot be fetched from the hub: {error}", field="dataset") from error
    return rows
