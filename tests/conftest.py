"""One thread for BLAS: more of them only wait for each other where tests share the processors."""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
