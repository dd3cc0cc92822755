"""CW680 and CW681: kernel settings of an image against those that the plan decides, and against each other."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.finding import Severity
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.image import Image
from clusterwright.spec.kernel_settings import decided, dotted
from clusterwright.spec.text.document import Path

_PARAMETER = "sysctl."  # Linux, Documentation/admin-guide/kernel-parameters.txt: a setting at boot


@rule("CW680", Severity.ERROR)
def decided_setting(subject: Subject) -> Iterator[Problem]:
    """Settings of images, and those among their kernel parameters, that say other than what is decided."""
    for image in subject.spec.images:
        for name, value, path in _settings(image):
            found = decided(name)
            if found is not None and (found.value is None or value.strip() != found.value):
                message = f"{dotted(name)} is not the image's to set: {found.because}."
                yield Problem(path, message, "Take it away.", key=isinstance(path[-1], str))


@rule("CW681", Severity.ERROR)
def setting_twice(subject: Subject) -> Iterator[Problem]:
    """Settings of one image that are one setting."""
    for image in subject.spec.images:
        seen: dict[str, str] = {}
        for name, _, path in _settings(image):
            first = seen.setdefault(dotted(name), name)
            if first != name:
                message = f"{name} and {first} are one setting."
                yield Problem(path, message, "Keep one of them.", key=isinstance(path[-1], str))


def _settings(image: Image) -> Iterator[tuple[str, str, Path]]:
    """Every setting of an image: its name as spelled, its value, and where it stands."""
    for name, value in image.sysctl.items():
        yield name, value, (*image.path, "sysctl", name)
    for at, parameter in enumerate(image.kernel_parameters):
        name, _, value = parameter.partition("=")
        if name.startswith(_PARAMETER):
            yield name.removeprefix(_PARAMETER), value, (*image.path, "kernel_parameters", at)
