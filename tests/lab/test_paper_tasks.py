import pytest

from lab.paper_tasks import PAPER_TASKS
from lens_engine.types import Example


def test_paper_has_eight_tasks_of_four_templates() -> None:
    assert list(PAPER_TASKS) == ["sst-2", "sst-5", "amazon", "mr", "subj", "trec", "agnews", "dbpedia"]
    assert {name: len(set(task.templates)) for name, task in PAPER_TASKS.items()} == dict.fromkeys(PAPER_TASKS, 4)


@pytest.mark.parametrize(
    ("name", "labels", "rho", "score_size", "demonstrations"),
    [
        ("sst-2", 2, 2, 14, 8),
        ("sst-5", 5, 2, 11, 10),
        ("amazon", 5, 3, 4, 8),
        ("mr", 2, 2, 11, 8),
        ("subj", 2, 2, 12, 8),
        ("trec", 6, 2, 20, 12),
        ("agnews", 4, 3, 4, 8),
        ("dbpedia", 14, 3, 4, 4),
    ],
)
def test_settings_are_of_the_paper(name: str, labels: int, rho: float, score_size: int, demonstrations: int) -> None:
    preset = PAPER_TASKS[name]

    assert len(preset.words) == labels
    assert (preset.rho, preset.initial_score_size, preset.num_demonstrations) == (rho, score_size, demonstrations)


def test_only_a_task_with_too_few_demonstrations_is_unbalanced() -> None:
    unbalanced = [name for name, task in PAPER_TASKS.items() if not task.balanced]

    assert unbalanced == [name for name, task in PAPER_TASKS.items() if task.num_demonstrations < len(task.words)]
    assert unbalanced == ["dbpedia"]


@pytest.mark.parametrize("template", range(4))
@pytest.mark.parametrize("name", PAPER_TASKS)
def test_paper_template_renders_a_full_demonstration(name: str, template: int) -> None:
    task = PAPER_TASKS[name].task(template)
    assert task.template.pattern == PAPER_TASKS[name].templates[template]
    label = task.labels[0]

    shown = task.render_demonstration(Example(0, "Some text.", label))

    assert shown.startswith("Some text. ")
    assert f" {task.verbalizer.words[label]}" in shown
    assert shown.endswith("\n")
    assert all(span.startswith(" ") for span in task.label_spans)
