"""The InfiniBand lab with two login nodes, in a zone of their own and with the flows that Slurm's commands need."""

from __future__ import annotations

LAB = "lab-ib"
LOGIN_NODES = ("log-l00n0", "log-l00n1")
LOGIN_GROUP = """  - name: login
    model: service-server
    role: storage
    count: 2
    prefix: log
    zone: login
    image: login
    levels:
      - {name: rack, of: 2, code: l}
"""
SLURM_FLOWS = {
    "submit": "from: login, to: services, protocol: tcp, ports: [6817]",
    "allocation": 'from: services, to: login, protocol: tcp, ports: ["61000-63999"]',
    "steps-of-login": "from: login, to: compute, protocol: tcp, ports: [6818]",
    "tasks-of-login": 'from: compute, to: login, protocol: tcp, ports: ["61000-63999"]',
}
OTHER_FLOWS = {
    "login-ssh": "from: services, to: login, protocol: tcp, ports: [22]",
    "login-names": "from: login, to: site-services, protocol: udp, ports: [53, 123]",
    "login-logs": "from: login, to: site-services, protocol: tcp, ports: [6514]",
    "login-firmware": "from: login, to: boot, protocol: udp, ports: [67, 69]",
    "login-boot": "from: login, to: boot, protocol: tcp, ports: [80]",
}
# FBOSS opens a range of 3,000 ports to every zone (CW513), so that the front end is on EOS.
_REST = """
fabrics:
  - name: frontend
    attach:
      - {nodes: compute, nics: frontend}
      - {nodes: storage, nics: frontend}
      - {nodes: services, nics: frontend}
      - {nodes: login, nics: frontend}
    tiers:
      - {role: rsw, model: dcs-7804r3}
zones:
  - {name: login, kind: scheduler, isolated: true, nodes: [login], fabrics: [frontend]}
images:
  - name: login
    distribution: "Debian 13"
    kernel: {package: linux-image-amd64}
    users:
      - {name: ops, uid: 2000, groups: [sudo], operators: [netops]}
"""
SCHEDULER = "scheduler:\n  login: [login]\n"


def login_overlay(scheduler: str = SCHEDULER, *, without_flow: str = "") -> str:
    """The list of added node groups and everything after it; one flow of Slurm's may be left out."""
    flows = "flows:\n"
    for name, words in (SLURM_FLOWS | OTHER_FLOWS).items():
        if name != without_flow:
            flows += f'  - {{name: {name}, {words}, reason: "people log in there", owner: systems}}\n'
    return f"{LOGIN_GROUP}{_REST}{flows}{scheduler}"
