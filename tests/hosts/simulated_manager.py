"""A subnet manager on a host of an SSH fleet: opensm over ibsim, with the files that the host holds."""

from __future__ import annotations

import re
import textwrap
import time
from pathlib import Path

from tests.hosts.routes import cabling_of
from tests.hosts.subnet import UMAD
from tests.lab.ibnet import simulate_fabric
from tests.lab.sshfleet import SshFleet, put

from clusterwright.plan.model import Plan


class SimulatedManager:
    """A host of the fleet with opensm over ibsim, started as its unit would start it."""

    def __init__(self, fleet: SshFleet, name: str, plan: Plan, folder: Path) -> None:
        self.fleet, self.name = fleet, name
        fabric = simulate_fabric(plan, "backend")
        put(fleet, name, "/run/sim/net", fabric.text)
        guid = next(cable.a.guid for cable in plan.cables_of[name] if cable.a.guid is not None)
        self.environment = f"IBSIM_SOCKNAME=cw-{folder.name} SIM_HOST=H-{guid - 1:016x}"
        limits = f"-N {fabric.nodes} -S {fabric.switches} -P {fabric.ports}"
        self._start(f"ibsim -s -n {limits} /run/sim/net", "ibsim", "MaxMcastCap", "/run/sim/ibsim")

    def manage(self, ready: str = "SUBNET UP") -> None:
        self._start(f"LD_PRELOAD={UMAD} opensm -F /etc/opensm/opensm.conf", "opensm", ready, "/var/log/opensm.log")

    def have_another_master(self, guid: int) -> None:
        """Start a manager of somebody else, of higher priority, on the port of another host."""
        self.fleet.run(
            self.name, "sh", "-c", "cp /usr/sbin/opensm /run/sim/master; mkdir -p /run/sim/cache; touch /run/sim/none"
        )
        self.environment, own = re.sub("H-.*", f"H-{guid - 1:016x}", self.environment), self.environment
        options = f"-F /run/sim/none -p 15 -g {guid:#x} -f /run/sim/master.log -d2"
        command = f"LD_PRELOAD={UMAD} OSM_CACHE_DIR=/run/sim/cache ./master {options}"
        self._start(command, "started", "SUBNET UP", "/run/sim/master.log")
        self.environment = own

    def under_systemd(self) -> None:
        """A stand-in for systemctl, which starts this manager anew as its unit would."""
        start = f"LD_PRELOAD={UMAD} setsid env opensm -F /etc/opensm/opensm.conf"
        script = f"""\
            #!/bin/sh
            [ "$*" = "restart opensm.service" ] || exec /usr/bin/systemctl "$@"
            pkill -x opensm; while pgrep -x opensm >/dev/null; do sleep 0.1; done
            cd /run/sim; {self.environment} {start} >/run/sim/opensm 2>&1 </dev/null &
            """
        put(self.fleet, self.name, "/usr/local/bin/systemctl", textwrap.dedent(script))

    def start_unit(self) -> None:
        """Start the rendered unit by the host's own systemd: a drop-in brings it into the simulated fabric.

        The gate's scan is brought there too, where adapters have other names.
        """
        words = "".join(f"Environment={word}\n" for word in (*self.environment.split(), f"LD_PRELOAD={UMAD}"))
        drop_in = f"[Unit]\nConditionPathExists=\n[Service]\nWorkingDirectory=/run/sim\n{words}"
        put(self.fleet, self.name, "/run/systemd/system/opensm.service.d/simulated.conf", drop_in)
        scan = f"cd /run/sim; {self.environment} LD_PRELOAD={UMAD} exec /usr/sbin/ibnetdiscover\n"
        put(self.fleet, self.name, "/usr/local/sbin/ibnetdiscover", f"#!/bin/sh\n{scan}")
        self.fleet.run(self.name, "systemctl", "daemon-reload")
        self.fleet.run(self.name, "systemctl", "start", "opensm.service")
        self._wait("SUBNET UP", "/var/log/opensm.log", "/var/log/opensm.log")

    def entries_through(self, plan: Plan, switch: str) -> int:
        """How many entries of the leaves' tables lead up to a switch."""
        guid = plan.by_name[switch].guid
        cabling = cabling_of(plan, "backend")
        ports = {end for end, (far, _) in cabling.ends.items() if far == guid}
        found, chip = 0, 0
        tables = self.fleet.run(
            self.name, "sh", "-c", f"cd /run/sim; {self.environment} LD_PRELOAD={UMAD} dump_fts 2>/dev/null"
        )
        for line in tables.splitlines():
            if "of switch" in line:
                name = re.search(r"guid 0x([0-9a-f]+)", line)
                assert name is not None, line
                chip = int(name[1], 16)
            elif line.startswith("0x"):
                found += (chip, int(line.split()[1])) in ports
        return found

    def log(self) -> str:
        return self.fleet.run(self.name, "cat", "/var/log/opensm.log")

    def _start(self, command: str, name: str, ready: str, log: str) -> None:
        script = f"cd /run/sim; {self.environment} setsid env {command} >/run/sim/{name} 2>&1 </dev/null &"
        self.fleet.run(self.name, "sh", "-c", f"{script} sleep 0.1")
        self._wait(ready, log, f"/run/sim/{name}")

    def _wait(self, ready: str, log: str, output: str) -> None:
        for _ in range(200):
            if ready in self.fleet.run(self.name, "sh", "-c", f"cat {log} 2>/dev/null || true"):
                return
            time.sleep(0.1)
        raise AssertionError(self.fleet.run(self.name, "cat", output))
