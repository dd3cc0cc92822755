"""An FBOSS switch's running files against its rendered ones, with defaults stated or not."""

from __future__ import annotations

import json
from collections.abc import Iterator

from clusterwright.device_files.drift import Compare, FileDifference
from clusterwright.device_files.json_drift import compare_json
from clusterwright.switches.fboss.reader.defaults import (
    AGENT_DEFAULTS,
    BGP_DEFAULTS,
    Defaults,
    defaults_of,
    without_defaults,
)
from clusterwright.switches.fboss.reader.normal_form import normal_form


def _comparison(defaults: Defaults) -> Compare:
    """The comparison of two files of one program, without fields at its defaults."""

    def compare(planned: str, runs: str) -> Iterator[FileDifference]:
        planned_document = without_defaults(json.loads(normal_form(planned)), defaults)
        running_document = without_defaults(json.loads(normal_form(runs)), defaults)
        yield from compare_json(json.dumps(planned_document), json.dumps(running_document))

    return compare


compare_agent = _comparison(defaults_of(AGENT_DEFAULTS))
compare_bgp = _comparison(defaults_of(BGP_DEFAULTS))
