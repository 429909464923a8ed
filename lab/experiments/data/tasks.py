"""Datasets by name: label words, templates and rows.

A known name is one of the paper's eight; its words and templates are in `lens_engine.task.paper_tasks`. Its rows are
files of a folder, NAME.train.jsonl and NAME.test.jsonl (or .csv, .parquet; the dash in a name may be left
out), or, without a folder, what the hub has. A folder may bring a dataset of another name with
NAME.task.json: {"words": {LABEL: WORD, …}, "templates": [PATTERN, …], "num_demonstrations": 8}.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import cached_property
from hashlib import sha256
from pathlib import Path

from pydantic import Field, ValidationError

from lab.experiments.data.hub import HUB_DATASETS, read_hub_rows
from lens_engine.errors import InvalidDataset
from lens_engine.reading import read_examples
from lens_engine.rows.problem import Problem, digest_examples
from lens_engine.task.paper_tasks import PAPER_TASKS
from lens_engine.task.template import Task, Template
from lens_engine.task.verbalizer import Verbalizer
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
    test: tuple[Example, ...] | None = None  #: None: test rows are split off `train`

    @cached_property
    def sha256(self) -> str:
        """Digest of label words and rows."""
        words = repr(sorted(self.settings.words.items()))
        rows = [digest_examples(examples) for examples in (self.train, self.test or ())]
        return sha256("\n".join((words, *rows)).encode()).hexdigest()

    def problem(self, template: str) -> Problem:
        """The problem of this dataset with this template."""
        return Problem(Task(Template(template), Verbalizer(self.settings.words)), self.train, self.test)


FindDataset = Callable[[str], Dataset]
"""Finds a dataset by its name. Raises InvalidDataset if there is none of this name."""


@dataclass
class Datasets:
    """Datasets by name, each read once."""

    folder: Path | None  #: of the files; None for the hub
    _found: dict[str, Dataset] = field(default_factory=dict, init=False)

    def find(self, name: str) -> Dataset:
        """
        Raises:
            InvalidDataset: there is no dataset of this name, or its rows cannot be used.
            OSError: a file cannot be read.
        """
        if name not in self._found:
            self._found[name] = self._open(name)
        return self._found[name]

    def _open(self, name: str) -> Dataset:
        if self.folder is None:
            return _open_from_hub(name)
        settings = self._read_settings(name, self.folder)
        train = self._file(name, "train", self.folder)
        if train is None:
            raise InvalidDataset(
                f"{self.folder} has no {name}.train.jsonl (nor .csv, nor .parquet)", field=f"datasets.{name}"
            )
        test = self._file(name, "test", self.folder)
        return Dataset(
            name, settings, tuple(read_examples(train)), None if test is None else tuple(read_examples(test))
        )

    def _read_settings(self, name: str, folder: Path) -> TaskSettings:
        path = folder / f"{name}.task.json"
        if not path.exists():
            return known_settings(name)
        try:
            return TaskSettings.model_validate_json(path.read_bytes())
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            raise InvalidDataset(f"{path}: {where}: {first['msg']}", field=f"datasets.{name}") from error

    def _file(self, name: str, split: str, folder: Path) -> Path | None:
        stems = dict.fromkeys((name, name.replace("-", "")))
        paths = (folder / f"{stem}.{split}.{suffix}" for stem in stems for suffix in _SUFFIXES)
        return next((path for path in paths if path.exists()), None)


def known_settings(name: str) -> TaskSettings:
    """The paper's settings for one of its datasets.

    Raises:
        InvalidDataset: the paper has no dataset of this name.
    """
    if name not in PAPER_TASKS:
        raise InvalidDataset(
            f"{name!r} is not one of {', '.join(PAPER_TASKS)}; for another, put {name}.task.json beside its rows",
            field=f"datasets.{name}",
        )
    return TaskSettings(**asdict(PAPER_TASKS[name]))


def _open_from_hub(name: str) -> Dataset:
    if name in HUB_DATASETS:
        source, settings = HUB_DATASETS[name], known_settings(name)
        return Dataset(name, settings, read_hub_rows(source, "train"), read_hub_rows(source, "test"))
    raise InvalidDataset(
        f"{name!r} is not one of {', '.join(HUB_DATASETS)}, which are fetched from the hub; "
        "for another dataset, give a folder with its files",
        field=f"datasets.{name}",
    )
