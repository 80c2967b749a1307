"""What a backend turned out to be able to do, learned from its refusals and remembered. Knows no HTTP client and sends nothing."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from branchwise.model.structure import CHOICE_KEYS, MODES, SCHEMA_KEYS

__all__ = ["Abilities"]

LOG = logging.getLogger("branchwise.model")

_REFUSED = re.compile(
    r"unsupported|not supported|do(?:es)?(?: not|n't) support|deprecated|not available|invalid (?:temperature|seed|stop)"
    r"|unrecognized|unknown (?:name|field|parameter)|not (?:allowed|permitted)"
    r"|must be between",
    re.IGNORECASE,
)
_ONE_SAMPLE = re.compile(
    r"(?i:only (?:one|1|a single) (?:completion|choice|sample|candidate)|(?:multiple|several) (?:completions|choices|samples|candidates))"
    r"|(?<![a-z_])n(?![a-z_])[^.]{0,60}\b(?:must|should|less than|at most|greater|only|maximum|limited)\b"
    r"|\b(?:must|should|less than|at most|only|maximum|limited)\b[^.]{0,60}(?<![a-z_])n(?![a-z_])"
)
"""How servers refuse more than one sample a request without the words of `_REFUSED`."""
_OPTIONAL = ("max_tokens", "max_completion_tokens", "temperature", "stop", "seed", "n", "logprobs", "top_logprobs", "stream_options")
_OTHER_NAME = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}


@dataclass
class Abilities:
    """What one backend accepts. Each fact is learned once, and told once in `notices` and in the log.

    `max_n` is the most samples of one request, `reasons` whether replies hold reasoning (`None`: not seen yet), `logprobs` whether there
    are log-probabilities, `schema_mode` and `choice_mode` which way of asking for structure is in use.
    """

    name: str
    max_n: int | None = None
    reasons: bool | None = None
    logprobs: bool | None = None
    schema_mode: str = MODES[0]
    choice_mode: str = MODES[0]
    dropped: set[str] = field(default_factory=set)
    renamed: dict[str, str] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)

    def shape(self, body: dict[str, Any]) -> dict[str, Any]:
        """`body` with the names that this backend knows, and without what it refuses."""
        named = {self.renamed.get(k, k): v for k, v in body.items()}
        return {k: v for k, v in named.items() if k not in self.dropped}

    def note(self, text: str) -> None:
        """Tell the user something once."""
        if text not in self.notices:
            self.notices.append(text)
            LOG.warning("%s: %s", self.name, text)

    def learn(self, status: int, error: object, sent: Mapping[str, Any]) -> bool:
        """Whether a refusal (`error` is its body) taught something, so that the same request can be sent anew in another shape."""
        if status not in (400, 404, 422):
            return False
        inner = error.get("error", error) if isinstance(error, Mapping) else error
        message = str((inner.get("message") or inner.get("detail") or inner) if isinstance(inner, Mapping) else inner)
        named = str(inner.get("param")) if isinstance(inner, Mapping) else ""
        code = str(inner.get("code")) if isinstance(inner, Mapping) else ""
        if (sent.get("n") or 1) > 1 and _ONE_SAMPLE.search(message):
            return self._give_up("n", message)
        if not (_REFUSED.search(message) or code.startswith("unsupported")):
            return False
        present = {**sent, **(sent.get("extra_body") or {})}
        found = [named] if named in present else [p for p in (*_OPTIONAL, *SCHEMA_KEYS, *CHOICE_KEYS) if p in present and _says(message, p)]
        taught = [self._give_up(p, message) for p in found]
        return any(taught)

    def _give_up(self, parameter: str, message: str) -> bool:
        """Do without `parameter` from now on. Whether that changes what is sent."""
        if parameter == "n":
            limit = re.search(r"<=?\s*(\d+)|at most (\d+)|less than or equal to (\d+)|and (\d+)", message)
            self.limit_n(max(1, int(next(filter(None, limit.groups())))) if limit else 1)
        elif parameter in _OTHER_NAME and parameter not in self.renamed.values():
            self.renamed = {parameter: _OTHER_NAME[parameter]}
            self.note(f"takes {_OTHER_NAME[parameter]} instead of {parameter}")
        elif parameter in (*SCHEMA_KEYS, *CHOICE_KEYS):
            return self.next_mode(parameter)
        elif parameter in ("logprobs", "top_logprobs"):
            self.logprobs = False
        elif parameter in _OPTIONAL:
            self.dropped.add(parameter)
            self.note(f"refuses {parameter}, which is left out from now on" + (" (stops are applied here)" if parameter == "stop" else ""))
        else:
            return False
        return True

    def limit_n(self, most: int) -> None:
        """Ask for at most this many samples in one request."""
        if self.max_n is None or most < self.max_n:
            self.max_n = most
            self.note(f"gives at most {most} sample{'s' * (most > 1)} for one request; more are asked for in several")

    def next_mode(self, used: str, kind: str = "") -> bool:
        """Go on to the next way of asking for structure after the one that `used` belongs to. Whether there is one."""
        for attribute in ("schema_mode", "choice_mode"):
            mode: str = getattr(self, attribute)
            if (kind and not attribute.startswith(kind)) or mode == MODES[-1]:
                continue
            keys = SCHEMA_KEYS if attribute == "schema_mode" else CHOICE_KEYS
            if mode == used or keys.get(used) == mode:
                setattr(self, attribute, MODES[MODES.index(mode) + 1])
                self.note(f"has no {mode} for {attribute[:6]}s; {MODES[MODES.index(mode) + 1]} is tried instead")
        return True


def _says(message: str, parameter: str) -> bool:
    """Whether `message` names `parameter` as a word of its own."""
    return re.search(rf"(?<![a-z_]){re.escape(parameter)}(?![a-z_])", message) is not None
