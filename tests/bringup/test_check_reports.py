"""What real tools report, judged: ibqueryerrors over ibsim, perftest's format from a recorded sample."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.bringup.simulated_counters import Fault, query_errors
from tests.compare.variants import inventory
from tests.plans import plan_of

from clusterwright.extras.bringup.check_bandwidth import check_bandwidth
from clusterwright.extras.bringup.check_counters import check_counters, read_ibqueryerrors
from clusterwright.extras.bringup.command import bringup
from clusterwright.extras.bringup.steps import AcceptanceLimits
from clusterwright.extras.bringup.verdict import UnreadableReportError
from clusterwright.plan.chips import chip_ports

DATA = Path(__file__).parents[1] / "data" / "bringup"
LIMITS = AcceptanceLimits()
SUMMARY = "## Summary: 148 nodes checked, 0 bad nodes found\n##          1408 ports checked, 0 ports have errors\n"


def _run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(bringup, [str(argument) for argument in arguments], standalone_mode=False)


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> str:
    """ibqueryerrors' output for a lab with a bad uplink, a bad NIC, a worn but tolerable port, a busy one."""
    plan = plan_of("lab-ib")
    leaf = plan.by_name["leaf-s00-00"]
    numbers = {port: number for port, (_, number) in chip_ports(plan.spec.catalogue[leaf.model], split=False).items()}
    ports = [cable.a.port for cable in plan.cables_of[leaf.name] if cable.a.device == leaf.name and cable.tier == 1]
    far = next(c.a.guid for c in plan.cables_of["gpu-s01r00n0"] if c.a.port == "be1")
    near = [c.a.guid for c in plan.cables_of["gpu-s00r00n0"] if c.a.guid is not None]
    assert far is not None
    faults = [
        Fault(f"S-{leaf.guid:016x}", numbers[ports[0]], "LinkDownedCounter", 2),
        Fault(f"S-{leaf.guid:016x}", numbers[ports[1]], "SymbolErrorCounter", 1),
        Fault(f"H-{near[2] - 1:016x}", 1, "PortRcvErrors", 40),
        Fault(f"H-{near[3] - 1:016x}", 1, "PortXmitWait", 4000),
        Fault(f"H-{far - 1:016x}", 1, "SymbolErrorCounter", 17),
    ]
    return query_errors(plan, faults, tmp_path_factory.mktemp("ibsim"))


def test_each_port_is_judged_by_its_own_cable(reported: str) -> None:
    plan = plan_of("lab-ib")
    found = {verdict.subject: verdict for verdict in check_counters(plan, None, reported, "x", LIMITS).verdicts}
    failed = {subject for subject, verdict in found.items() if not verdict.holds}
    uplinks = [c for c in plan.cables_of["leaf-s00-00"] if c.a.device == "leaf-s00-00" and c.tier == 1]
    assert failed == {f"leaf-s00-00 {uplinks[0].a.port}", "gpu-s00r00n0 be2", "gpu-s01r00n0 be1"}
    down = found[f"leaf-s00-00 {uplinks[0].a.port}"]
    assert down.cable == f"leaf-s00-00 {uplinks[0].a.port} – {uplinks[0].b.device} {uplinks[0].b.port}"
    assert down.reasons == ("LinkDownedCounter is 2, at most 0 (flow control drops nothing, and a link stays up)",)
    assert found["gpu-s00r00n0 be3"].remarks == ("PortXmitWait 4,000",)
    assert found[f"leaf-s00-00 {uplinks[1].a.port}"].holds  # one symbol error an hour is within the bit error ratio


def test_a_group_answers_for_its_own_ports(reported: str) -> None:
    checked = check_counters(plan_of("lab-ib"), "s01", reported, "x", LIMITS)
    assert [verdict.subject for verdict in checked.verdicts] == ["gpu-s01r00n0 be1"]
    assert checked.summary == "1,408 ports checked, 1 beyond limits; 4 more with counts lie outside s01"


def test_the_command_fails_with_device_and_cable(reported: str, tmp_path: Path) -> None:
    (tmp_path / "errors").write_text(reported)
    result = _run(inventory("lab-ib"), "--judge", f"ibqueryerrors={tmp_path / 'errors'}")
    assert result.return_value == 1
    assert "FAILED gpu-s00r00n0 be2  (cable gpu-s00r00n0 be2 – leaf-s00-02 1/1)" in result.output
    (tmp_path / "clean").write_text(SUMMARY)
    assert _run(inventory("lab-ib"), "--judge", f"ibqueryerrors={tmp_path / 'clean'}").return_value == 0


def test_half_a_report_is_no_report(reported: str) -> None:
    with pytest.raises(UnreadableReportError, match="no summary"):
        read_ibqueryerrors(reported[: reported.index("## Summary")], "errors")
    with pytest.raises(UnreadableReportError):
        read_ibqueryerrors("", "errors")


def test_a_stranger_is_named() -> None:
    line = "   GUID 0x98039b0300a1b2c3 port 1: [SymbolErrorCounter == 1]\n"
    (verdict,) = check_counters(plan_of("lab-ib"), None, line + SUMMARY, "x", LIMITS).verdicts
    assert not verdict.holds
    assert "0x98039b0300a1b2c3" in verdict.reasons[0]


def test_pairs_are_judged_by_their_links() -> None:
    plan = plan_of("lab-ib")
    text = (DATA / "ib_write_bw.txt").read_text()
    good, slow, dead = check_bandwidth(plan, None, text, "x", LIMITS).verdicts
    assert good.holds
    assert good.remarks == ("394.40 Gb/s",)
    assert slow.reasons[0].startswith("196.98 Gb/s, at least 385.6 Gb/s (97% of 400 Gb/s × 4096 / (4096 + 26)")
    assert slow.cable == "gpu-s00r00n1 be0 – leaf-s00-00 1/2; gpu-s00r01n2 be0 – leaf-s00-00 4/1"
    assert dead.reasons == ("wrote no result",)


def test_pairs_that_nobody_measured_are_missing() -> None:
    text = (DATA / "ib_write_bw.txt").read_text()
    verdicts = check_bandwidth(plan_of("lab-ib"), "s00", text, "x", LIMITS).verdicts
    assert sum(verdict.reasons == ("was not measured",) for verdict in verdicts) == 8 * 28 - 3


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no line says"),
        ("# pair gpu-s00r00n0 mlx5_0 nobody mlx5_0\n 8 1 1.0 1.0 1.0\n", "no RDMA NIC mlx5_0 in a node nobody"),
        ("# pair gpu-s00r00n0 mlx5_0 gpu-s00r00n1 mlx5_3\n", "not on one rail"),
        ("# pair a b c d\n #bytes #iterations BW peak[MB/sec] BW average[MB/sec] MsgRate[Mpps]\n", "--report_gbits"),
    ],
)
def test_what_cannot_be_judged_is_refused(text: str, why: str) -> None:
    with pytest.raises(UnreadableReportError, match=why):
        check_bandwidth(plan_of("lab-ib"), None, text, "x", LIMITS)


def test_several_reports_after_one_option(tmp_path: Path) -> None:
    (tmp_path / "clean").write_text(SUMMARY)
    sample = f"perftest={DATA / 'ib_write_bw.txt'}"
    result = _run(inventory("lab-ib"), "--judge", f"ibqueryerrors={tmp_path / 'clean'}", sample)
    assert result.return_value == 1
    assert "ibqueryerrors: 1,408 ports checked, 0 beyond limits" in result.output
    assert "perftest: 3 pairs measured, 2 too slow or missing" in result.output
