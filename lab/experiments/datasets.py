"""Datasets by name: label words, templates and rows.

A known name is one of the paper's eight; its words and templates are in `lab.paper_tasks`. Its rows are
files of a folder, NAME.train.jsonl and NAME.test.jsonl (or .csv, .parquet; the dash in a name may be left out), or,
without a folder, what the Hugging Face hub has. A folder may bring a dataset of another name with NAME.task.json:
{"words": {LABEL: WORD, …}, "templates": [PATTERN, …], "num_demonstrations": 8}.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cache, cached_property
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import Field, ValidationError

from lab.paper_tasks import PAPER_TASKS
from lens_engine.errors import InvalidDataset
from lens_engine.files import read_examples
from lens_engine.prompt.template import Task, Template
from lens_engine.prompt.verbalizer import Verbalizer
from lens_engine.rows.problem import Problem, digest_examples
from lens_engine.types import Example, Record

_SUFFIXES = ("jsonl", "csv", "parquet")


class TaskSettings(Record):
    """Label words, templates and sizes of the task of a dataset."""

    words: dict[str, str] = Field(description="Label to label word.")
    templates: tuple[str, ...] = Field(min_length=1)
    num_demonstrations: int = 8
    balanced: bool = True
    rho: float | None = Field(None, description="Progressive factor of the paper.")
    initial_score_size: int | None = Field(None, description="l of the paper.")


@dataclass(frozen=True)
class Dataset:
    """A named dataset with all its rows."""

    name: str
    settings: TaskSettings
    train: tuple[Example, ...]
    test: tuple[Example, ...]

    @cached_property
    def sha256(self) -> str:
        """Digest of label words and rows."""
        words = repr(sorted(self.settings.words.items()))
        rows = [digest_examples(examples) for examples in (self.train, self.test)]
        return sha256("\n".join((words, *rows)).encode()).hexdigest()

    def problem(self, template: str) -> Problem:
        return Problem(Task(Template(template), Verbalizer(self.settings.words)), self.train, self.test)


FindDataset = Callable[[str], Dataset]
"""Finds a dataset by its name. Raises InvalidDataset if there is none of this name."""


def datasets_of(folder: Path | None) -> FindDataset:
    """The datasets of a folder, or of the hub; each is read once.

    They raise InvalidDataset for an unknown name and for rows that cannot be used, OSError for unreadable files.
    """
    return cache(lambda name: _read_hub(name) if folder is None else _read_folder(name, folder))


def known_settings(name: str) -> TaskSettings:
    """The paper's settings for one of its datasets.

    Raises:
        InvalidDataset: the paper has no dataset of this name.
    """
    if name not in PAPER_TASKS:
        raise InvalidDataset(
            f"{name!r} is not one of {', '.join(PAPER_TASKS)}; for another, give a folder with its rows and "
            f"{name}.task.json",
            field=f"datasets.{name}",
        )
    return TaskSettings(**asdict(PAPER_TASKS[name]))


def _read_folder(name: str, folder: Path) -> Dataset:
    settings = _read_settings(name, folder)
    return Dataset(name, settings, *(_read_split(name, split, folder) for split in ("train", "test")))


def _read_settings(name: str, folder: Path) -> TaskSettings:
    path = folder / f"{name}.task.json"
    if not path.exists():
        return known_settings(name)
    try:
        return TaskSettings.model_validate_json(path.read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise InvalidDataset(f"{path}: {where}: {first['msg']}", field=f"datasets.{name}") from error


def _read_split(name: str, split: str, folder: Path) -> tuple[Example, ...]:
    stems = dict.fromkeys((name, name.replace("-", "")))
    paths = (folder / f"{stem}.{split}.{suffix}" for stem in stems for suffix in _SUFFIXES)
    found = next((path for path in paths if path.exists()), None)
    if found is None:
        raise InvalidDataset(f"{folder} has no {name}.{split}.jsonl (nor .csv, nor .parquet)", field=f"datasets.{name}")
    return tuple(read_examples(found))


class HubDataset(NamedTuple):
    """The names that a repository uses. The splits are "train" and "test"."""

    repository: str
    text: str = "text"  #: columns
    label: str = "label_text"
    values: tuple[str, ...] = ()  #: of the label column, in the order of the paper's labels; () where they are equal


HUB_DATASETS: dict[str, HubDataset] = {
    "sst-2": HubDataset("SetFit/sst2"),
    "sst-5": HubDataset("SetFit/sst5"),
    "amazon": HubDataset("SetFit/amazon_reviews_multi_en", "text", "label", tuple("43210")),  # 0 is one star
    "mr": HubDataset("cornell-movie-review-data/rotten_tomatoes", "text", "label", tuple("10")),
    "subj": HubDataset("SetFit/subj"),
    "trec": HubDataset(
        "SetFit/TREC-QC", "text", "label_coarse_original", ("DESC", "ENTY", "ABBR", "HUM", "LOC", "NUM")
    ),
    "agnews": HubDataset("fancyzhx/ag_news", "text", "label", tuple("0123")),
    "dbpedia": HubDataset("fancyzhx/dbpedia_14", "content", "label", tuple(map(str, range(14)))),
}


def _read_hub(name: str) -> Dataset:
    settings, source = known_settings(name), HUB_DATASETS[name]
    train, test = (read_hub_rows(name, _fetch(source.repository, split)) for split in ("train", "test"))
    return Dataset(name, settings, train, test)


def read_hub_rows(name: str, rows: Iterable[Mapping[str, Any]]) -> tuple[Example, ...]:
    """The rows of a split of a dataset of the hub, in their order.

    Raises:
        InvalidDataset: a row is not as expected.
    """
    source = HUB_DATASETS[name]
    labels = label_values(name)
    found = []
    for number, row in enumerate(rows):
        raw, text = str(row.get(source.label)), row.get(source.text)
        if raw not in labels or not isinstance(text, str):
            raise InvalidDataset(
                f"{source.repository}: unexpected value in column {source.text!r} or {source.label!r} (label {raw!r}); "
                "the repository has changed: give a folder with the files instead",
                field="dataset",
                row=number,
            )
        found.append(Example(number, text, labels[raw]))
    return tuple(found)


def label_values(name: str) -> dict[str, str]:
    """Value in the label column of the hub -> our label."""
    words = list(PAPER_TASKS[name].words)
    return dict(zip(HUB_DATASETS[name].values or words, words, strict=True))


def _fetch(repository: str, split: str) -> Iterable[Mapping[str, Any]]:
    try:
        rows: Iterable[Mapping[str, Any]] = import_module("datasets").load_dataset(repository, split=split)
    except ImportError as error:
        raise InvalidDataset(
            "a dataset of the hub needs the package `datasets`: pip install datasets; or give a folder with the files",
            field="dataset",
        ) from error
    except Exception as error:
        raise InvalidDataset(f"{repository} cannot be fetched from the hub: {error}", field="dataset") from error
    return rows
