import json
from pathlib import Path

import pytest

from lab.experiments.data.hub import HUB_DATASETS, read_hub_rows
from lab.experiments.data.tasks import Datasets, known_settings
from lens_engine.errors import InvalidDataset
from lens_engine.task.paper_tasks import PAPER_TASKS
from lens_engine.types import Example
from tests.lab.experiments.experiment_doubles import make_dataset


def write_rows(path: Path, *texts: str, label: str = "positive") -> None:
    path.write_text("".join(json.dumps({"text": text, "label": label}) + "\n" for text in texts))


@pytest.mark.parametrize("stem", ["sst-2", "sst2"])
def test_files_of_a_folder_are_found_by_name(tmp_path: Path, stem: str) -> None:
    write_rows(tmp_path / f"{stem}.train.jsonl", "one", "two")
    write_rows(tmp_path / f"{stem}.test.jsonl", "three", "four")
    found = Datasets(tmp_path).find("sst-2")
    assert [example.text for example in found.train] == ["one", "two"]
    assert found.test is not None
    assert [example.text for example in found.test] == ["three", "four"]
    assert found.settings == known_settings("sst-2")


def test_other_formats_are_found(tmp_path: Path) -> None:
    (tmp_path / "mr.train.csv").write_text("text,label\na,positive\nb,negative\n")
    found = Datasets(tmp_path).find("mr")
    assert (len(found.train), found.test) == (2, None)


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidDataset, match=r"has no trec\.train\.jsonl"):
        Datasets(tmp_path).find("trec")


def test_unknown_name_lists_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(InvalidDataset, match=r"'tickets' is not one of sst-2, .*tickets\.task\.json") as refused:
        Datasets(tmp_path).find("tickets")
    assert refused.value.field == "datasets.tickets"


def test_folder_may_bring_a_task_of_its_own(tmp_path: Path) -> None:
    write_rows(tmp_path / "tickets.train.jsonl", "one", "two", label="bug")
    task = {"words": {"bug": "Bug", "wish": "Wish"}, "templates": ["{text} Kind: {label}."], "num_demonstrations": 6}
    (tmp_path / "tickets.task.json").write_text(json.dumps(task))
    found = Datasets(tmp_path).find("tickets")
    assert found.settings.num_demonstrations == 6
    assert found.problem(found.settings.templates[0]).task.label_spans == (" Bug", " Wish")


@pytest.mark.parametrize("content", ["{", '{"words": {"a": "A"}}', '{"words": {"a": "A"}, "templates": []}'])
def test_unusable_task_file_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / "tickets.task.json").write_text(content)
    with pytest.raises(InvalidDataset, match=r"tickets\.task\.json"):
        Datasets(tmp_path).find("tickets")


def test_digest_changes_with_rows_and_words() -> None:
    dataset = make_dataset()
    words = {"positive": "good", "negative": "bad"}
    others = [
        make_dataset(rows=78),
        make_dataset(test_rows=22),
        make_dataset("other"),
        type(dataset)(dataset.name, dataset.settings.model_copy(update={"words": words}), dataset.train, dataset.test),
    ]
    assert len({one.sha256 for one in (dataset, *others)}) == len(others) + 1
    assert make_dataset().sha256 == dataset.sha256


def test_every_dataset_of_the_paper_has_a_place_on_the_hub() -> None:
    assert HUB_DATASETS.keys() == PAPER_TASKS.keys()
    for name, source in HUB_DATASETS.items():
        assert set(source.labels.values()) == set(PAPER_TASKS[name].words), name


@pytest.mark.parametrize("name", HUB_DATASETS)
def test_rows_of_the_hub_get_our_labels(name: str) -> None:
    source = HUB_DATASETS[name]
    raw = next(iter(source.labels))
    rows = [{source.text: "a text", source.label: int(raw) if raw.isdigit() else raw}]
    found = read_hub_rows(source, "test", lambda *_: rows)
    assert found == (Example(0, "a text", source.labels[raw]),)


@pytest.mark.parametrize("row", [{"text": "a", "label": 7}, {"label": 0}, {"text": None, "label": 0}])
def test_unexpected_row_of_the_hub_is_refused(row: dict[str, object]) -> None:
    source = HUB_DATASETS["mr"]
    with pytest.raises(InvalidDataset, match="the repository has changed") as refused:
        read_hub_rows(source, "train", lambda *_: [{"text": "a", "label": 0}, row])
    assert refused.value.row == 1


def test_without_a_folder_only_the_papers_datasets_are_known() -> None:
    with pytest.raises(InvalidDataset, match="fetched from the hub"):
        Datasets(None).find("tickets")
