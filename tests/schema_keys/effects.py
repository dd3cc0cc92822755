"""What can be seen of a spec, cheapest first: findings, plan, files, inventory, report, and what commands answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from functools import cache, cached_property, partial
from itertools import count, groupby, zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, cast

from clusterwright.deploy.pulumi.units import cut
from clusterwright.deploy.secrets.sources import SecretFile
from clusterwright.device_files.effect import Effect
from clusterwright.extras.bringup.acceptance import acceptance_plans
from clusterwright.extras.bringup.steps import AcceptanceLimits
from clusterwright.extras.place.placement import linear, place, shuffled
from clusterwright.extras.place.room import room_for
from clusterwright.extras.place.text import PlacementComparison
from clusterwright.extras.place.text import text as placement_text
from clusterwright.finding import ClusterwrightError
from clusterwright.keys.certificates import certificate_dues
from clusterwright.keys.ledger import Ledger, Version
from clusterwright.keys.schedule import overdue, steps
from clusterwright.lists.as_ansible import ansible_lines
from clusterwright.lists.as_json import json_lines
from clusterwright.lists.records import Inventory
from clusterwright.output.fleet import fetched, node_images
from clusterwright.output.rendering import Rendering
from clusterwright.plan.build import build_plan
from clusterwright.report.figures import figures
from clusterwright.report.html import report_files
from clusterwright.rollout.gates.boots import SlurmBoots
from clusterwright.rollout.gates.node_checks import NodeIsolation, NodeVerdicts
from clusterwright.rollout.gates.running_jobs import RunningJobs
from clusterwright.rollout.gates.selection import Gates
from clusterwright.rollout.gates.sessions import Sessions
from clusterwright.rollout.gates.subnet import SubnetScan
from clusterwright.rollout.waves import Wave, plan_waves
from clusterwright.rules.engine import LintResult, lint_with_subject
from clusterwright.spec.load import load_spec_document

if TYPE_CHECKING:
    from clusterwright.deploy.ansible.query import Devices
    from clusterwright.plan.model import Plan
    from clusterwright.rollout.gates.boots import BootNote
    from clusterwright.rollout.gates.health import Gate
    from clusterwright.rules.rule import Subject
    from clusterwright.spec.model import ClusterSpec
    from clusterwright.spec.text.document import Document
    from clusterwright.spec.workload import Job

DAY = date(2026, 6, 1)
_LIMITS = AcceptanceLimits(60, 0.97, 0.9)


class Files:
    """What each device holds, in the order of the plan: rendered as far as somebody looks, and equal to the same."""

    def __init__(self, plan: Plan) -> None:
        self._rendering = groupby(Rendering(plan).of_devices(), key=lambda each: each.device)
        self._rendered: list[Any] = []

    def __iter__(self) -> Iterator[Any]:
        for at in count():
            if at == len(self._rendered):
                self._rendered.append(answer(self._next))
            if self._rendered[at] is None:
                return
            yield self._rendered[at]

    def _next(self) -> Any:
        device, files = next(self._rendering, ("", ()))
        return (device, {file.path: (file.content, file.mode) for file in files}) if device else None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Files) and all(mine == its for mine, its in zip_longest(self, other))

    __hash__ = None  # type: ignore[assignment]  # as of what is compared by what it holds, and grows


class Seen:
    """Everything that anybody can see of ``document``, each kind computed when it is asked for."""

    def __init__(self, document: Document) -> None:
        self.document = document

    @cached_property
    def _judged(self) -> tuple[LintResult, Subject | None]:
        return lint_with_subject(self.document, DAY)

    @property
    def lint(self) -> LintResult:
        return self._judged[0]

    @cached_property
    def findings(self) -> Any:
        """What lint says, without where it says it, and what a comment keeps it from saying."""
        result = self.lint
        said = tuple((finding.code, finding.message, finding.path) for finding in result.findings)
        return (
            said,
            tuple((suppression.finding.code, suppression.finding.message) for suppression in result.suppressed),
            bool(result.errors),
        )

    @property
    def is_refused(self) -> bool:
        return bool(self.findings[2])

    @cached_property
    def spec(self) -> ClusterSpec:
        subject = self._judged[1]
        return load_spec_document(self.document) if subject is None else subject.spec

    @cached_property
    def built(self) -> Plan:
        subject = self._judged[1]
        return build_plan(self.spec) if subject is None else subject.plan

    @cached_property
    def plan(self) -> Any:
        return self.built.groups, self.built.devices, self.built.cables, self.built.subnets

    @cached_property
    def files(self) -> Files:
        return Files(self.built)

    @cached_property
    def images(self) -> Any:
        return node_images(self.built), fetched(self.built)

    @cached_property
    def lists(self) -> Any:
        listed = Inventory(self.built)
        return *ansible_lines(listed), *json_lines(listed, figures(self.built))

    @cached_property
    def report(self) -> Any:
        return report_files(self.built, self.lint.findings)

    @cached_property
    def placements(self) -> Any:
        return tuple(answer(partial(self._placement, job)) for job in self.spec.jobs)

    @cached_property
    def rollout(self) -> Any:
        waves = plan_waves(self.built, cut(self.built), self._rebooting, self.spec.rollout)
        return (
            waves,
            tuple(self._gates(waves).questions),
            # What `up` reads by itself.
            self.spec.rollout.failure_budget,
            self.spec.rollout.first_failure_percent,
            [(window.days, window.opens, window.closes, window.timezone) for window in self.spec.rollout.windows],
            [(approver.name, approver.key) for approver in self.spec.rollout.approvers],
            self.spec.rollout.approvals,
            self.spec.rollout.notify and (self.spec.rollout.notify.url, self.spec.rollout.notify.secret),
        )

    @cached_property
    def acceptance(self) -> Any:
        pods = sorted({device.pod for device in self.built.devices if device.kind == "node" and device.pod})
        return tuple(answer(partial(acceptance_plans, self.built, pod, _LIMITS)) for pod in pods)

    @cached_property
    def keys(self) -> Any:
        schedule = self.spec.keys
        ledger = Ledger({key.name: (Version(1, DAY - timedelta(days=100), "wrapped", 1),) for key in schedule})
        folder = Path(self.document.file).parent
        return (
            tuple(steps(schedule, ledger, DAY)),
            tuple(overdue(schedule, ledger, DAY)),
            answer(partial(certificate_dues, schedule, folder, DAY)),
        )

    @cached_property
    def secrets(self) -> Any:
        return tuple(_secret(json.dumps(item)) for item in self.document.data.get("secrets", ()))

    def _placement(self, job: Job) -> str:
        room = room_for(self.built, job)
        return placement_text(
            PlacementComparison("", job, room, place(room, job), linear(room, job), shuffled(room, job, 1), 1)
        )

    @property
    def _rebooting(self) -> dict[str, Effect]:
        return {device.name: Effect.REBOOT for device in self.built.devices}

    def _gates(self, waves: tuple[Wave, ...]) -> Gates:
        """As ``device_gates`` makes them, of devices that nobody asks here."""
        policies, nobody = self.spec.rollout.gates, cast("Devices", None)
        every: tuple[Gate, ...] = (
            RunningJobs(nobody, policies.jobs, {}, {}),
            Sessions(self.built, nobody, policies.sessions, waves),
            SubnetScan(self.built, nobody, policies.subnet),
            NodeVerdicts(self.built, nobody, policies.verdicts, frozenset()),
            NodeIsolation(self.built, nobody, policies.isolation),
        )
        boots = self.spec.rollout.boots
        if boots is not None:
            every = (SlurmBoots(nobody, boots, frozenset(), {}, "", cast("BootNote", None)), *every)
        return Gates(every, {})


@cache
def _secret(item: str) -> Any:
    """What a secret's entry, as JSON, gives; most changes leave all of them alone."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "secrets.yaml"
        file.write_text(f'{{"secrets": [{item}]}}')
        source = SecretFile(file, Path("keys"))
        return answer(partial(source.fetch, None)).replace(str(file.parent), ""), answer(source.versions)


def answer(ask: Callable[[], Any]) -> Any:
    """What ``ask`` gives, or why it refuses."""
    try:
        return ask()
    except ClusterwrightError as error:
        return str(error)


KINDS = ("plan", "files", "placements", "rollout", "acceptance", "keys", "secrets", "images", "lists", "report")
CHEAP = KINDS[:-3]


def difference(one: Seen, other: Seen, kinds: tuple[str, ...] = KINDS) -> str | None:
    """The first kind in which they differ, None when they look the same to everybody."""
    if one.findings != other.findings:
        return "findings"
    if one.is_refused:
        return None
    return next((kind for kind in kinds if getattr(one, kind) != getattr(other, kind)), None)
