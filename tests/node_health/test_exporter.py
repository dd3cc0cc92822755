"""The node check's metrics, read by Prometheus' own parser."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families
from tests.node_health.recordings import checks, recorded

from clusterwright.node_health.exporter import metrics_of
from clusterwright.node_health.verdict import check, verdict_of


def test_metrics_are_what_prometheus_reads() -> None:
    found = [*checks(*recorded("h100-roce")).values(), check('odd "name"\\', "x", "y", ["broken"])]
    text = metrics_of(verdict_of("n0", found), 1763733000.5, 0.4)
    families = {family.name: family for family in text_string_to_metric_families(text)}
    assert {family.type for family in families.values()} == {"gauge"}
    assert all(family.documentation for family in families.values())
    (healthy,) = families["clusterwright_node_healthy"].samples
    assert (healthy.labels, healthy.value) == ({"node": "n0"}, 0)
    held = {sample.labels["check"]: sample.value for sample in families["clusterwright_node_check_ok"].samples}
    assert held == {each.name: float(each.ok) for each in found}
    assert families["clusterwright_node_check_time_seconds"].samples[0].value == 1763733000.5
    assert text.endswith("\n")
