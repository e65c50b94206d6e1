"""The sizes, initializers and factors that a claim is decided for.

>>> Inputs(d_model=256).scale
16.0
>>> Inputs(std="1/sqrt(d_model)").tables("std 1", "xavier")
{'std 0.0441942': 'normal(std=0.04419417382415922)'}
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from varprop.numeric import nonnegative_number
from varprop.spec import TransformerSpec
from varprop.validation import suggest
