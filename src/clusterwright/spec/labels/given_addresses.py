"""Addresses from a provider: a CSV file of device, port and address with the length of its network (10.3.0.11/24).

Anything other than an address of a machine is refused at its line (CW519).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_interface
from pathlib import Path as FilePath

from clusterwright.finding import Finding
from clusterwright.spec.isolation import AddressWithLength, Network
from clusterwright.spec.labels.rows import Label, LabelFile

BAD_ADDRESS = "CW519"


@dataclass(frozen=True, slots=True)
class GivenAddress:
    """One row: the adapter ``port`` of ``device`` has the address."""

    device: str
    port: str
    address: AddressWithLength
    line: int


@dataclass(frozen=True)
class AddressList:
    """A file of addresses, all of one network."""

    file: str
    rows: tuple[GivenAddress, ...]
    network: Network

    @property
    def by_end(self) -> Mapping[tuple[str, str], int]:
        """The number of each address by device and port."""
        return {(row.device, row.port): int(row.address) for row in self.rows}


def read_given_addresses(file: FilePath) -> tuple[AddressList | None, tuple[Finding, ...]]:
    """The list in ``file`` and a finding for each wrong line; None for a list without a row."""
    labels = LabelFile(str(file), BAD_ADDRESS, "address")
    rows: list[GivenAddress] = []
    by_address: dict[object, GivenAddress] = {}
    by_end: dict[tuple[str, str], GivenAddress] = {}
    for label in labels.rows(file):
        row = _row(labels, label)
        if row is None:
            continue
        first = rows[0] if rows else row
        same_address = by_address.get(row.address.ip)
        same_end = by_end.get((row.device, row.port))
        if row.address.network != first.address.network:
            message = f"{row.address} is not in {first.address.network}, as the address on line {first.line} is."
            labels.problem(row.line, label.column, message, "Make a fabric of its own for each network.")
        elif same_address is not None:
            message = f"{same_address.device} {same_address.port} on line {same_address.line} has this address already."
            labels.problem(row.line, label.column, message, "Look at both machines again.")
        elif same_end is not None:
            message = f"{row.device} {row.port} has an address already, on line {same_end.line}."
            labels.problem(row.line, 1, message, "Keep the correct line.")
        else:
            rows.append(row)
            by_address[row.address.ip] = by_end[row.device, row.port] = row
    if not rows:
        if not labels.findings:
            labels.problem(1, 1, "the file has no address.", "Write a line for each adapter on the fabric.")
        return None, tuple(labels.findings)
    return AddressList(str(file), tuple(rows), rows[0].address.network), tuple(labels.findings)


def _row(labels: LabelFile, label: Label) -> GivenAddress | None:
    """The row of a line; None, with a finding, for a text without an address and length."""
    try:
        address = ip_interface(label.text)
    except ValueError:
        address = None
    if address is None or "/" not in label.text:
        message = f'"{label.text}" is not an address with the length of its network.'
        labels.problem(label.line, label.column, message, "Write it as `ip address` prints it: 10.3.0.11/24.")
        return None
    is_single = address.network.num_addresses <= 2
    ends = (address.network.network_address, address.network.broadcast_address)
    if not is_single and address.ip in ends:
        message = f"{label.text} is the address of a network, not of an adapter."
        labels.problem(label.line, label.column, message, "Write the adapter's own address.")
        return None
    return GivenAddress(device=label.device, port=label.port, address=address, line=label.line)
