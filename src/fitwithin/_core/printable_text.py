"""Text of any origin, without characters that control a terminal or break a page."""

from __future__ import annotations

import re

_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def replace_unprintable(text: str) -> str:
    """Replace control characters and lone surrogates, which neither a page nor a picture can hold."""
    return _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text)
