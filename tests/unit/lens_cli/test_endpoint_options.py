"""Options of a model behind a server: what they choose, and what is refused."""

import shlex

import pytest

from lens_cli.endpoint_options import ChosenModel, EndpointOptions, describe_opening
from lens_cli.flags import name_flags
from lens_cli.refusals import Refusal, RefusedInput, refusing
from lens_engine.classifier.prompt import ModelRecord
from lens_engine.errors import BudgetSpent, EndpointAway, EndpointError, InvalidConfig
from lens_engine.scoring.base import SERVER
from lens_engine.scoring.spending import TokenPrices
from lens_engine.servers.address import Endpoint

URL = "http://127.0.0.1:8000"
SERVED = EndpointOptions(endpoint=URL, endpoint_kind="vllm")


def test_options_make_an_endpoint() -> None:
    options = EndpointOptions(
        endpoint=f"{URL}/v1",
        endpoint_kind="vllm",
        endpoint_key_variable="MY_KEY",
        endpoint_requests=4,
        price_input=0.15,
        price_cached=0.075,
        price_output=0.6,
    )
    chosen = options.choose("our-model", dtype="auto", device="auto", actors=1, ray_address=None)
    assert chosen.endpoint == Endpoint(
        "vllm", URL, "our-model", key_variable="MY_KEY", prices=TokenPrices(0.15, 0.6, 0.075), most_requests=4
    )
    assert describe_opening(chosen.reference) == f"Connecting to {URL}"


def test_reference_of_an_endpoint_takes_the_other_options() -> None:
    chosen = EndpointOptions(endpoint_key_variable="MY_KEY").choose(f"vllm:our-model@{URL}")
    assert chosen.endpoint == Endpoint("vllm", URL, "our-model", key_variable="MY_KEY")


def test_options_of_a_chat_are_its_own() -> None:
    options = EndpointOptions(
        endpoint_answers="sampled", endpoint_extra=["reasoning_effort=none", "seed=1"], endpoint_context=4096
    )
    chosen = options.choose("openai-chat:m@https://api.example.com/v1")
    assert chosen.endpoint is not None
    assert chosen.endpoint.extra == {"reasoning_effort": "none", "seed": 1}
    assert (chosen.endpoint.answers, chosen.endpoint.context) == ("sampled", 4096)
    assert "--endpoint-extra reasoning_effort=none --endpoint-extra seed=1" in " ".join(chosen.list_arguments())
    with pytest.raises(InvalidConfig):
        options.choose(f"vllm:m@{URL}")
    with pytest.raises(RefusedInput, match="NAME=VALUE"):
        EndpointOptions(endpoint_extra=["none"]).choose(f"vllm:m@{URL}")


def test_model_without_options_is_on_this_machine() -> None:
    chosen = EndpointOptions().choose("./folder", dtype="bfloat16", device="cuda")
    assert chosen == ChosenModel("./folder")
    assert chosen.list_arguments() == ["--model", "./folder"]
    assert describe_opening(chosen.reference) == "Loading ./folder"


def test_arguments_choose_the_same_model_again() -> None:
    options = EndpointOptions(
        tokenizer="./own", endpoint_weights="./own", price_input=1.0, price_output=2.0, max_cost=0.5
    )
    words = options.choose(f"vllm:our model@{URL}").list_arguments()
    assert shlex.join(words) == (
        f"--endpoint {URL} --endpoint-kind vllm --model 'our model' --tokenizer ./own "
        "--endpoint-weights ./own --price-input 1.0 --price-output 2.0 --max-cost 0.5"
    )
    assert "--max-cost" not in options.choose(f"vllm:our model@{URL}").list_arguments(with_limit=False)


@pytest.mark.parametrize(
    ("options", "model", "message", "where"),
    [
        (EndpointOptions(endpoint=URL), "m", "name the kind of the server: vllm,", "--endpoint-kind"),
        (EndpointOptions(max_cost=1.0), "m", "--max-cost is for a model behind a server", "--max-cost"),
        (EndpointOptions(endpoint_weights="w"), "m", "name the server by --endpoint", "--endpoint-weights"),
        (EndpointOptions(tokenizer="t"), "m", "name the server by --endpoint", "--tokenizer"),
        (SERVED, f"vllm:m@{URL}", "names the server already", "--endpoint"),
        (
            EndpointOptions(max_cost=1.0),
            f"vllm:m@{URL}",
            "--max-cost needs --price-input and --price-output",
            "--max-cost",
        ),
        (EndpointOptions(price_cached=1.0, price_input=1.0), f"vllm:m@{URL}", "--price-input needs", "--price-input"),
    ],
)
def test_contradicting_options_are_refused(options: EndpointOptions, model: str, message: str, where: str) -> None:
    with pytest.raises(RefusedInput, match=message) as refused:
        options.choose(model)
    assert refused.value.details == (f"where: {where}",)


@pytest.mark.parametrize(
    ("name", "value"), [("dtype", "float32"), ("device", "cuda"), ("actors", 2), ("ray_address", "auto")]
)
def test_options_of_a_model_here_are_refused_for_a_server(name: str, value: object) -> None:
    with pytest.raises(RefusedInput, match="is for a model on this machine; the server decides it") as refused:
        SERVED.choose("m", **{"dtype": "auto", "device": "auto", name: value})
    assert refused.value.details == (f"where: --{name.replace('_', '-')}",)


def test_classifier_of_a_server_is_asked_there_by_its_own_name() -> None:
    known = ModelRecord(model="our-model", revision="1", dtype="float32", device=SERVER)
    chosen = SERVED.choose_again(None, known)
    assert chosen is not None
    assert chosen.endpoint == Endpoint("vllm", URL, "our-model")
    assert SERVED.choose_again(None, None) is None
    with pytest.raises(RefusedInput, match="it was made with our-model behind a server"):
        EndpointOptions().choose_again(None, known)
    assert EndpointOptions().choose_again("./weights", known) == ChosenModel("./weights")


@pytest.mark.parametrize(
    ("error", "exit_code", "text"),
    [
        (EndpointError("the server has other weights (check: weights)"), 2, "check: weights"),
        (EndpointAway("the server does not answer"), 1, "does not answer"),
        (BudgetSpent("1.0 USD are spent"), 2, "the limit on the cost is reached"),
        (InvalidConfig("unknown kind", field="endpoint_kind"), 2, "unknown kind"),
    ],
)
def test_failures_of_a_server_end_with_their_exit_code(error: Exception, exit_code: int, text: str) -> None:
    with pytest.raises(Refusal, match=text) as refused, refusing():
        raise error
    assert refused.value.exit_code == exit_code


def test_fields_of_an_endpoint_are_named_as_options() -> None:
    assert name_flags("where: key_variable") == "where: --endpoint-key-variable"
    assert name_flags("give those of a million tokens (TokenPrices)").endswith("(--price-input, --price-output)")
