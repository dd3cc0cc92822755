"""CW641: packages of images that no configured repository has."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from clusterwright.finding import Severity
from clusterwright.intent.image.packages import all_packages
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.distribution import Distribution, distribution_of


@rule("CW641", Severity.ERROR)
def package_without_repository(subject: Subject) -> Iterator[Problem]:
    """Images without `repositories` that install packages missing in their distribution's own archive.

    With `repositories` nothing is compared: their contents are not known here.
    """
    for image in subject.spec.images:
        distribution = distribution_of(image.distribution)
        if image.is_existing or image.repositories or distribution is None:
            continue
        names = [package.name for package in all_packages(subject.plan, image, distribution)]
        missing = [name for name in names if name in distribution.foreign_packages]
        if missing:
            message = f"{image.name} installs {', '.join(missing)}, which no archive of {image.distribution} has."
            hint = "Add `repositories`: the distribution's mirror, and one with these packages."
            yield Problem((*image.path, "name"), message, hint)
        for section, closed in _names_by_closed_section(names, distribution).items():
            message = f"{image.name} installs {', '.join(closed)} from {section}, which is not in its repositories."
            hint = f"Add `repositories`: the distribution's mirror with {section} among its `components`."
            yield Problem((*image.path, "name"), message, hint)


def _names_by_closed_section(names: Iterable[str], distribution: Distribution) -> dict[str, list[str]]:
    """Packages in sections of the archive that no default repository includes."""
    open_sections: set[str] = set()
    for archive in distribution.family.archives:
        open_sections.update(archive.components)
    names_by_section = defaultdict(list)
    for name in names:
        section = distribution.section_of(name)
        if section is not None and section not in open_sections:
            names_by_section[section].append(name)
    return names_by_section
