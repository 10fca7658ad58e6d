"""`python -m linalg_ext`: the command `linalg-ext`, where it is not on the path."""

from __future__ import annotations

import sys

from linalg_ext.cli import main

sys.exit(main())
