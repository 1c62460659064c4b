"""Plain data as YAML that the strict reader reads back equal.

Ordinary writers leave a text such as ``1e3`` unquoted, because their own rules take it for a text;
here every text that is not an evident word is quoted.
"""

from __future__ import annotations

import re
from typing import Any

import yaml

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*(?: [A-Za-z][A-Za-z0-9_./-]*)*\Z")


class _Writer(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(writer: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    style = None if _WORD.match(value) else '"'
    return writer.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Writer.add_representer(str, _text)


def to_text(data: Any) -> str:
    """Return `data` (mappings, lists, texts, numbers) as YAML, leaves on one line."""
    text: str = yaml.dump(
        data,
        Dumper=_Writer,
        sort_keys=False,
        allow_unicode=True,
        width=100,
        default_flow_style=None,
    )
    return text
