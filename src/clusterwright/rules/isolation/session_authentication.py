"""CW554, CW556: sessions with other owners prove who speaks, and no session asks for what an end does not have."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.data_files import DOCS_SITE
from clusterwright.finding import Severity
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.hardware.systems import systems


@rule(
    code="CW554",
    severity=Severity.WARNING,
    title="session with another owner that proves nothing",
    why="Whoever gets at the link can end the session, or speak as the neighbour and draw the cluster's traffic away.",
    mend="Agree on a secret with the neighbour's owner and name it in `authentication`.",
    docs="`authentication: {secret: NAME}` is TCP-MD5 (RFC 2385), `method: tcp-ao` the better TCP-AO (RFC 5925), with"
    f" an `algorithm` and a `key_id` that both ends have alike. Secrets are names; see {DOCS_SITE}/secrets.html.",
)
def open_border(subject: Subject) -> Iterator[Problem]:
    """Borders without authentication."""
    for border in subject.spec.borders:
        if border.authentication is None:
            message = f"Border {border.name} takes AS {border.asn} at its word: its session has no authentication."
            yield Problem((*border.path, "name"), message, "Add `authentication: {method: tcp-ao, secret: NAME}`.")


@rule(
    code="CW556",
    severity=Severity.ERROR,
    title="authentication that an end does not have",
    why="One end would sign and the other would not: the session never comes up. Or both would go without, unnoticed.",
    mend="Take it away from these uplinks, or use switches that have the method at both ends.",
    docs="EOS has TCP-MD5 and TCP-AO. FBOSS's BGP has neither: no field of bgp_config.thrift is for it. SONiC's schema"
    " has `auth_password`, but its management framework (frrcfgd) hands it on as `neighbor X password P encrypted`,"
    " which FRR refuses as an unknown command; the session then comes up without. MACsec on the links protects such"
    " sessions too.",
)
def one_sided_authentication(subject: Subject) -> Iterator[Problem]:
    """Uplinks whose sessions ask for a method that the system at one of their ends does not have."""
    known = systems()
    for skeleton in subject.skeleton.fabrics:
        for lower, upper in skeleton.joined_tiers():
            wanted = lower.up.authentication if lower.up is not None else None
            if wanted is None:
                continue
            for tier in (lower, upper):
                system = known.get(tier.model.network_os or "")
                if system is None or wanted.method not in system.authentication:
                    runs = tier.model.network_os or "no system"
                    message = f"{tier.role} runs {runs}, whose BGP sessions cannot have {wanted.method}."
                    yield Problem(wanted.path, message, "Take `authentication` away from these uplinks.", key=True)
