"""How the model's threads wait for each other on a machine that does other things too."""

import os

_WAITING = "OMP_WAIT_POLICY"


def polite_threads() -> dict[str, str]:
    """Variables that let torch's threads sleep instead of spin at each barrier, unless the user has chosen.

    A person's own machine is seldom idle: where something else takes one of two cores, spinning
    threads were measured at a fifth to a tenth of their pace, sleeping ones at half of it.
    """
    return {} if _WAITING in os.environ else {_WAITING: "PASSIVE"}
