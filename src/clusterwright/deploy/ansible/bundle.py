"""A device's tree as one file on the control node: what a single Ansible task sends along with the module."""

from __future__ import annotations

import base64
import gzip
import io
import tarfile

from clusterwright.deploy.target import DeviceTree


def bundle(tree: DeviceTree) -> bytes:
    """Base64 of a gzipped tar with the tree's files and modes, the same bytes for the same tree.

    Base64, because it travels as an argument in JSON; a tar, because people can look into it.
    """
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for artifact in sorted(tree, key=lambda artifact: artifact.path):
            member = tarfile.TarInfo(artifact.path)
            member.mode, member.size = artifact.mode, len(artifact.content)
            archive.addfile(member, io.BytesIO(artifact.content))
    return base64.b64encode(gzip.compress(buffer.getvalue(), mtime=0))
