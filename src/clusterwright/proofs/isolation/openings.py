"""Ways beside the filters of switches, whatever the system: what they say that no list of theirs judges."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from clusterwright.finding import VerifyError
from clusterwright.packets.phrases import count
from clusterwright.packets.tokens import Unreadable
from clusterwright.platforms.eos.reader.lists import read_eos_lists
from clusterwright.proofs.check import Counterexample
from clusterwright.proofs.isolation.declared import DeclaredIsolation
from clusterwright.proofs.isolation.edges import EOS, FBOSS, SONIC, unreadable
from clusterwright.proofs.isolation.eos_openings import Fault, eos_openings, unknown_sections
from clusterwright.proofs.isolation.json_openings import (
    fboss_openings,
    fboss_sessions,
    sonic_openings,
    unknown_keys,
    unknown_tables,
)
from clusterwright.proofs.tree import RenderedTree

SESSIONS = "etc/coop/bgpcpp.conf"
_Reader = Callable[[str, str, DeclaredIsolation | None], Iterator[Fault]]


def opening_faults(tree: RenderedTree, declared: DeclaredIsolation | None) -> Iterator[Counterexample]:
    """Everything that takes packets past the lists of a switch, or opens its services. Raises VerifyError.

    Without what is ``declared`` (a folder), only what is wrong under any matrix.
    """
    readers: tuple[tuple[str, _Reader], ...] = (
        (EOS, _eos),
        (FBOSS, fboss_openings),
        (SESSIONS, fboss_sessions),
        (SONIC, sonic_openings),
    )
    for file, read in readers:
        for device in tree.devices_with(file):
            text = tree.text(device, file) or ""
            try:
                for at, message in read(text, device, declared):
                    yield Counterexample(device, file, text.count("\n", 0, max(at, 0)) + 1, message)
            except Unreadable as error:
                raise unreadable(device, file, error) from None
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise VerifyError(f"{device}:/{file}: it does not read ({error!r}). Render the spec again.") from None


def unknown_notes(tree: RenderedTree) -> Iterator[str]:
    """How much on switches is of a kind that nothing here knows, with the first of it."""
    found = [
        f"{device}:/{file}:{text.count(chr(10), 0, at) + 1}: {what}"
        for file, read in ((EOS, unknown_sections), (FBOSS, unknown_keys), (SONIC, unknown_tables))
        for device in tree.devices_with(file)
        for text in (tree.text(device, file) or "",)
        for at, what in read(text)
    ]
    if found:
        yield (
            f"{count(len(found), 'section')} of switches' files that this proof does not know, as {found[0]}. Whether "
            "that opens anything is not judged."
        )


def _eos(text: str, device: str, declared: DeclaredIsolation | None) -> Iterator[Fault]:
    return eos_openings(text, device, read_eos_lists(text), declared)
