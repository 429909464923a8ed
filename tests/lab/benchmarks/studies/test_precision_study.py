"""The whole study, on a tiny model and synthetic texts."""

from pathlib import Path

import pytest
import torch

from benchmarks.studies.precision import read_options, read_problems, study
from benchmarks.studies.precision_prompts import Prompts, Sizes
from benchmarks.studies.precision_table import precision_section
from benchmarks.workloads.texts import make_problem
from lens_engine.testing import tiny_causal_lm

SIZES = Sizes(candidates=16, score_examples=4, permutations=3, rows=4)


@pytest.fixture(scope="module")
def prompts() -> Prompts:
    problem = make_problem("reviews", 200)
    return Prompts.draw(problem.task, problem.examples, SIZES, 2)


def test_prompts_are_as_many_as_asked_for_and_apart(prompts: Prompts) -> None:
    assert (len(prompts.candidates), len(prompts.score_set), len(prompts.prefixes), len(prompts.rows)) == (16, 4, 3, 4)
    assert all(len(prefix) == 2 for prefix in prompts.prefixes)
    texts = [{example.text for example in split} for split in (prompts.candidates, prompts.score_set, prompts.rows)]
    assert not texts[0] & texts[1]
    assert not (texts[0] | texts[1]) & texts[2]


def test_study_compares_formats_and_executors(prompts: Prompts, tmp_path: Path) -> None:
    folder = tiny_causal_lm("llama", max_position_embeddings=2048).save(tmp_path)

    records = list(study(str(folder), torch.device("cpu"), prompts))

    formats = {record["format"]: record for record in records if "against" not in record}
    executors = {(r["format"], r["executor"], r["against"]): r for r in records if "against" in r}
    assert formats["float32"]["one_shot"]["max_delta"] == 0.0
    float16, bfloat16 = (executors[name, "packed", "float32"]["one_shot"] for name in ("float16", "bfloat16"))
    assert 0.0 < float16["mean_delta"] < bfloat16["mean_delta"]
    assert formats["bfloat16"]["one_shot"]["pairs"] == 16 * 4
    assert executors["float32", "plain", "float32"]["one_shot"]["max_delta"] < 1e-3
    assert ("bfloat16", "plain", "bfloat16") in executors
    section = precision_section({"reviews": records})
    assert "| bfloat16, float32 head | 64 |" in section
    assert "| bfloat16, cached, against bfloat16 |" in section


def test_data_needs_a_template_and_label_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        read_options(["--data", str(tmp_path / "rows.jsonl")])

    assert "--data needs --template and --verbalizer" in capsys.readouterr().err


def test_rows_of_a_file_are_read_with_its_template(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text('{"text": "fine", "label": "a"}\n{"text": "poor", "label": "b"}\n')

    problems = read_problems(
        read_options(
            ["--data", str(file), "--template", "{text} is {label}", "--verbalizer", "a=good", "--verbalizer", "b=bad"]
        )
    )

    assert [example.text for example in problems["rows"].examples] == ["fine", "poor"]
    assert problems["rows"].task.label_spans == (" good", " bad")
