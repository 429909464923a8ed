"""`lens select` killed in the middle of a run with an instruction."""

from pathlib import Path

from tests.e2e.lens_command import run
from tests.e2e.test_select_command import command, model, read_result, reviews, start
from tests.e2e.waiting import until


def test_killed_selection_with_an_instruction_resumes_to_the_digest_of_a_whole_one(
    reviews: Path, model: Path, tmp_path: Path
) -> None:
    checkpoint, output, whole = tmp_path / "run.checkpoint", tmp_path / "result.json", tmp_path / "whole.json"
    asked = command(reviews, model, "--no-pair-cache", "--instruction", "Is the film good?")
    arguments = [*asked, "--checkpoint", str(checkpoint), "--output", str(output)]
    with start(arguments) as process:
        until(checkpoint.exists, "the first checkpoint", seconds=120)
        process.kill()
    refused = run(command(reviews, model, "--checkpoint", str(checkpoint)))  # without the instruction
    assert "the checkpoint belongs to other data, options" in refused.stderr
    assert run(arguments).returncode == 0
    assert run([*asked, "--output", str(whole)]).returncode == 0
    result = read_result(output)
    assert result.digest == read_result(whole).digest
    assert result.prompt.startswith("Is the film good?\n")
