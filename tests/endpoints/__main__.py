"""The double with the bundled model behind it, as a server: python -m tests.endpoints PORT"""

import sys
import time

from lens_engine.model.local.load import load_scorer
from lens_engine.model.local.model_files import BUNDLED_MODEL
from tests.endpoints.double import Double, ModelBehind, serving

if __name__ == "__main__":
    with serving(Double(ModelBehind(load_scorer(BUNDLED_MODEL, dtype="float32"))), int(sys.argv[1])) as double:
        sys.stdout.write(f"{double.url}\n")
        sys.stdout.flush()
        while True:
            time.sleep(60)
