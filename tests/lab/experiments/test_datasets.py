import json
from pathlib import Path

import pytest

from lab.experiments.datasets import HUB_DATASETS, datasets_of, known_settings, label_values, read_hub_rows
from lab.paper_tasks import PAPER_TASKS
from lens_engine.errors import InvalidDataset
from lens_engine.types import Example


def write_rows(path: Path, *texts: str, label: str = "positive") -> None:
    path.write_text("".join(json.dumps({"text": text, "label": label}) + "\n" for text in texts))


@pytest.mark.parametrize("stem", ["sst-2", "sst2"])
def test_files_of_a_folder_are_found_by_name(tmp_path: Path, stem: str) -> None:
    write_rows(tmp_path / f"{stem}.train.jsonl", "one", "two")
    (tmp_path / f"{stem}.test.csv").write_text("text,label\nthree,positive\nfour,negative\n")
    found = datasets_of(tmp_path)("sst-2")
    assert [example.text for example in found.train] == ["one", "two"]
    assert [example.text for example in found.test] == ["three", "four"]
    assert found.settings == known_settings("sst-2")


def test_folder_may_bring_a_task_of_its_own(tmp_path: Path) -> None:
    for split in ("train", "test"):
        write_rows(tmp_path / f"tickets.{split}.jsonl", f"{split} one", f"{split} two", label="bug")
    task = {"words": {"bug": "Bug", "wish": "Wish"}, "templates": ["{text} Kind: {label}."], "num_demonstrations": 6}
    (tmp_path / "tickets.task.json").write_text(json.dumps(task))
    found = datasets_of(tmp_path)("tickets")
    assert (found.settings.num_demonstrations, len(found.test)) == (6, 2)
    assert found.problem(found.settings.templates[0]).task.label_spans == (" Bug", " Wish")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("trec", None, r"has no trec\.train\.jsonl"),
        ("tickets", None, r"'tickets' is not one of sst-2, .*tickets\.task\.json"),
        ("tickets", "{", r"tickets\.task\.json"),
        ("tickets", '{"words": {"a": "A"}, "templates": []}', r"tickets\.task\.json: templates"),
    ],
)
def test_missing_rows_and_bad_tasks_are_refused(tmp_path: Path, name: str, content: str | None, message: str) -> None:
    if content is not None:
        (tmp_path / f"{name}.task.json").write_text(content)
    with pytest.raises(InvalidDataset, match=message) as refused:
        datasets_of(tmp_path)(name)
    assert refused.value.field == f"datasets.{name}"


def test_every_dataset_of_the_paper_has_its_labels_on_the_hub() -> None:
    assert HUB_DATASETS.keys() == PAPER_TASKS.keys()
    for name, source in HUB_DATASETS.items():
        labels = label_values(name)
        rows = [{source.text: "a text", source.label: int(raw) if raw.isdigit() else raw} for raw in labels]
        expected = [Example(number, "a text", label) for number, label in enumerate(labels.values())]
        assert list(read_hub_rows(name, rows)) == expected
        assert set(labels.values()) == set(PAPER_TASKS[name].words), name
    assert read_hub_rows("mr", [{"text": "a", "label": 0}])[0].label == "negative"
    assert read_hub_rows("amazon", [{"text": "a", "label": 4}])[0].label == "very positive"


@pytest.mark.parametrize("row", [{"text": "a", "label": 7}, {"label": 0}, {"text": None, "label": 0}])
def test_unexpected_row_of_the_hub_is_refused(row: dict[str, object]) -> None:
    with pytest.raises(InvalidDataset, match="the repository has changed") as refused:
        read_hub_rows("mr", [{"text": "a", "label": 0}, row])
    assert refused.value.row == 1
