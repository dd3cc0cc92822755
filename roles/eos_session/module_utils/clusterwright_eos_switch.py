"""One Arista switch as a deployment sees it: who it is, its sessions, its neighbours."""

from __future__ import annotations

from typing import NamedTuple

from ansible.module_utils.clusterwright_eapi import Eapi, Rejected
from ansible.module_utils.clusterwright_eos_text import Command, settled

PENDING, ARMED = "pending", "pendingCommitTimer"
FACTORY_NAME = "localhost"


class Identity(NamedTuple):
    """What a switch says of itself. The serial number is that of the machine, whatever it is configured to be."""

    hostname: str
    serial: str


class Switch:
    """The commands of a deployment. Every method raises Unanswered and Rejected."""

    def __init__(self, eapi: Eapi) -> None:
        self.eapi = eapi

    def identity(self) -> Identity:
        """Name and serial number, asked now."""
        name, version = self.eapi.run(["show hostname", "show version"])
        return Identity(str(name["hostname"]), str(version.get("serialNumber", "")))

    def running(self) -> str:
        """The running configuration, without comments."""
        text: str = settled(self.eapi.run(["show running-config"], "text")[0]["output"])
        return text

    def sessions(self) -> dict[str, str]:
        """Name of each configuration session -> its state."""
        (answer,) = self.eapi.run(["show configuration sessions detail"])
        return {name: str(session.get("state", "")) for name, session in answer.get("sessions", {}).items()}

    def neighbours(self) -> dict[str, bool]:
        """``VRF address`` of each BGP neighbour -> whether its session is established; shut ones are left out."""
        try:
            (answer,) = self.eapi.run(["show bgp summary vrf all"])
        except Rejected as error:
            if error.index == 0:  # a switch without BGP says that it is inactive
                return {}
            raise
        return {
            f"{vrf} {address}": peer.get("peerState") == "Established"
            for vrf, summary in answer.get("vrfs", {}).items()
            for address, peer in summary.get("peers", {}).items()
            if peer.get("peerStateIdleReason") != "Admin"
        }

    def stage(self, session: str, commands: list[Command]) -> str:
        """Fill a new session with a whole configuration, and return its diff against what runs; "" for none."""
        entry = [f"configure session {session}", "rollback clean-config"]
        try:
            self.eapi.run([*entry, *(command.text for command in commands), "end"])
        except Rejected as error:
            place = error.index - len(entry)
            if 0 <= place < len(commands):
                wrong = commands[place]
                raise Rejected(f"line {wrong.line}, {wrong.text.strip()!r}: {error}", place) from error
            raise
        answer = self.eapi.run([f"show session-config named {session} diffs"], "text")
        return str(answer[0]["output"]).strip("\n")

    def commit(self, session: str, timer_s: int) -> None:
        """Put a session into effect until the timer runs out or ``confirm`` comes."""
        timer = f"{timer_s // 3600:02}:{timer_s // 60 % 60:02}:{timer_s % 60:02}"
        self.eapi.run([f"configure session {session}", f"commit timer {timer}"])

    def confirm(self, session: str) -> None:
        """Keep what ``commit`` put into effect."""
        self.eapi.run([f"configure session {session} commit"])

    def roll_back(self, session: str) -> None:
        """Take back at once what ``commit`` put into effect."""
        self.eapi.run([f"configure session {session} abort"])

    def drop(self, session: str) -> None:
        """Forget a session that was never committed."""
        self.eapi.run([f"configure session {session}", "abort"])

    def save(self) -> None:
        """Have the switch start with what it runs."""
        self.eapi.run(["write memory"])
