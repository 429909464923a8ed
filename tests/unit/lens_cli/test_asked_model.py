"""The model that a command asks: what its options choose, and what is refused."""

import shlex
from pathlib import Path

import pytest

from lens_cli.asked_model import ChosenModel, ServerOptions, describe_opening
from lens_cli.refusals import Refusal, RefusedInput, name_flags, refusing
from lens_engine.classifier.classifier import ModelRecord
from lens_engine.errors import BudgetSpent, EndpointAway, EndpointError, InvalidConfig
from lens_engine.model.base import SERVER
from lens_engine.model.servers.address import Endpoint
from lens_engine.model.spending import TokenPrices

URL = "http://127.0.0.1:8000"
SERVED = f"vllm:our-model@{URL}"
KNOWN = ModelRecord(model="our-model", revision="1", dtype="float32", device=SERVER)


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "servers.toml"
    path.write_text(
        f"""
        [ours]
        kind = "vllm"
        url = "{URL}/v1"
        model = "our-model"
        key_variable = "MY_KEY"
        most_requests = 4
        prices = {{ input = 0.15, cached = 0.075, output = 0.6 }}
        """
    )
    return str(path)


def test_model_is_found_in_the_file_of_servers(file: str) -> None:
    chosen = ServerOptions(file).choose("ours", dtype="auto", device="auto", actors=1, ray_address=None)
    prices = TokenPrices(0.15, 0.6, 0.075)
    assert chosen.endpoint == Endpoint("vllm", URL, "our-model", key_variable="MY_KEY", prices=prices, most_requests=4)
    assert describe_opening(chosen.reference) == f"Connecting to {URL}"


def test_flags_go_before_the_file(file: str) -> None:
    chosen = ServerOptions(file, endpoint_key_variable="OTHER", tokenizer="./own").choose("ours")
    assert chosen.endpoint is not None
    assert (chosen.endpoint.key_variable, chosen.endpoint.tokenizer) == ("OTHER", "./own")


def test_reference_needs_no_file() -> None:
    chosen = ServerOptions(endpoint_key_variable="MY_KEY").choose(SERVED)
    assert chosen.endpoint == Endpoint("vllm", URL, "our-model", key_variable="MY_KEY")


@pytest.mark.parametrize("has_file", [True, False])
def test_model_that_is_no_server_is_on_this_machine(has_file: bool, file: str) -> None:
    chosen = ServerOptions(file if has_file else None).choose("./folder", dtype="bfloat16", device="cuda")
    assert chosen == ChosenModel("./folder")
    assert chosen.list_arguments() == ["--model", "./folder"]
    assert describe_opening(chosen.reference) == "Loading ./folder"


def test_arguments_choose_the_same_model_again(file: str) -> None:
    chosen = ServerOptions(file, tokenizer="./own", max_cost=0.5).choose("ours")
    whole = f"--model ours --endpoints {file} --tokenizer ./own"
    assert shlex.join(chosen.list_arguments()) == f"{whole} --max-cost 0.5"
    assert shlex.join(chosen.list_arguments(with_limit=False)) == whole
    words = ServerOptions(file, endpoint_key_variable="MY_KEY").choose(f"vllm:our model@{URL}").list_arguments()
    assert shlex.join(words) == f"--model 'vllm:our model@{URL}' --endpoint-key-variable MY_KEY"


@pytest.mark.parametrize(
    ("options", "model", "message", "where"),
    [
        ({"max_cost": 1.0}, "./m", "--max-cost is for a model behind a server, .*no --endpoints are given", "--model"),
        ({"tokenizer": "t"}, "m", "--tokenizer is for a model behind a server", "--model"),
        ({"endpoints": "FILE"}, "owrs", r"'owrs' names none: .*servers\.toml has ours", "--model"),
        ({"max_cost": 1.0}, SERVED, "--max-cost needs the prices of the server", "--endpoints"),
    ],
)
def test_contradiction_is_refused(options: dict[str, object], model: str, message: str, where: str, file: str) -> None:
    given = {name: file if value == "FILE" else value for name, value in options.items()}
    with pytest.raises(RefusedInput, match=message) as refused:
        ServerOptions(**given).choose(model)  # type: ignore[arg-type]
    assert refused.value.details == (f"where: {where}",)


@pytest.mark.parametrize(
    ("name", "value"), [("dtype", "float32"), ("device", "cuda"), ("actors", 2), ("ray_address", "auto")]
)
def test_options_of_a_model_here_are_refused_for_a_server(name: str, value: object) -> None:
    with pytest.raises(RefusedInput, match="is for a model on this machine; the server decides it") as refused:
        ServerOptions().choose(SERVED, **{"dtype": "auto", "device": "auto", name: value})
    assert refused.value.details == (f"where: --{name.replace('_', '-')}",)


def test_classifier_of_a_server_is_asked_there_by_its_own_name(file: str) -> None:
    chosen = ServerOptions(file).choose_again(None, KNOWN)
    assert chosen is not None
    assert (chosen.named, chosen.reference) == ("ours", SERVED)
    assert ServerOptions(file).choose_again(None, None) is None
    with pytest.raises(RefusedInput, match="it was made with our-model behind a server; name it"):
        ServerOptions().choose_again(None, KNOWN)
    assert ServerOptions().choose_again("./weights", KNOWN) == ChosenModel("./weights")


def test_classifier_is_asked_at_no_server_that_only_has_the_name_of_its_model(file: str) -> None:
    with Path(file).open("a") as more:
        more.write('\n[theirs]\nkind = "vllm"\nurl = "http://elsewhere"\nmodel = "our-model"')
    with pytest.raises(RefusedInput, match="it was made with our-model behind a server; name it"):
        ServerOptions(file).choose_again(None, KNOWN)
    here = KNOWN.model_copy(update={"model": "ours", "device": "cpu"})
    assert ServerOptions(file).choose_again(None, here) == ChosenModel("ours")


@pytest.mark.parametrize(
    ("error", "exit_code", "text"),
    [
        (EndpointError("the server has other weights (check: weights)"), 2, "check: weights"),
        (EndpointAway("the server does not answer"), 1, "does not answer"),
        (BudgetSpent("1.0 USD are spent"), 2, "the limit on the cost is reached"),
        (InvalidConfig("unknown kind", field="kind"), 2, "unknown kind"),
    ],
)
def test_failures_of_a_server_end_with_their_exit_code(error: Exception, exit_code: int, text: str) -> None:
    with pytest.raises(Refusal, match=text) as refused, refusing():
        raise error
    assert refused.value.exit_code == exit_code


def test_fields_of_a_server_are_named_as_options() -> None:
    assert name_flags("where: key_variable") == "where: --endpoint-key-variable"
    assert name_flags("give those of a million tokens (TokenPrices)").endswith("in a file of servers (--endpoints)")
