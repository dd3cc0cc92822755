"""A real slurmctld over the rendered files, and what it answers."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Collection, Sequence
from pathlib import Path

from clusterwright.artifact import Artifact
from clusterwright.deploy.secrets.secrets import resolve
from clusterwright.hosts.slurm import writer as slurm
from clusterwright.intent.scheduling import controllers
from clusterwright.plan.model import Plan
from clusterwright.spec.job import Scheduler

PACKAGES = {"slurmctld": "slurmctld", "scontrol": "slurm-client", "munged": "munge"}

# slurmctld gets the rendered files, a host name and its planned address, which every compute node shares.
SCRIPT = """
set -e
mkdir -p /etc/slurm
mount --bind {folder}/etc/slurm /etc/slurm
mount --bind {folder}/hosts /etc/hosts
mount -t tmpfs none /run
mount -t tmpfs none /var/spool
mount -t tmpfs none /var/log
mount -t tmpfs none /srv
mkdir -p /run/munge /var/log/munge /var/log/slurm {state}
chown munge /run/munge /var/log/munge
chown slurm /var/log/slurm {state}
hostname {controller}
ip link set lo up
ip address add {address} dev lo nodad
runuser -u munge -- munged --force
{records}
slurmctld -D -c > {folder}/slurmctld.out 2>&1 &
controller=$!
for try in $(seq 300); do
    scontrol ping > {folder}/ping 2>&1 && grep -q "is UP" {folder}/ping && break
    kill -0 $controller || exit 1
    sleep 0.1
done
scontrol show topology > {folder}/topology
scontrol show config > {folder}/config
scontrol show nodes > {folder}/nodes
scontrol show partitions > {folder}/partitions
[ -z "$keeper" ] || sacctmgr -nP show cluster > {folder}/clusters
{questions}
kill $controller $(cat /run/munge/munged.pid)
[ -z "$keeper" ] || {{ kill $keeper; wait $keeper || true; kill $database; }}
wait
"""

# What keeps the records: MariaDB, with the user that the site makes, and slurmdbd as its unit starts it.
RECORDS = """
mkdir -p /run/mysqld /run/slurmdbd /srv/mysql
chown mysql /run/mysqld /srv/mysql
chown slurm /run/slurmdbd
mariadb-install-db --user=mysql --datadir=/srv/mysql --skip-test-db > {folder}/mariadb.out 2>&1
runuser -u mysql -- mariadbd --datadir=/srv/mysql --bind-address=:: >> {folder}/mariadb.out 2>&1 &
database=$!
for try in $(seq 300); do mariadb-admin ping > /dev/null 2>&1 && break; sleep 0.1; done
mariadb -e "grant all on {name}.* to '{user}'@'%' identified by '{password}'"
install -D -o slurm -g slurm -m 0600 {folder}/{file} /etc/slurm/slurmdbd.conf
runuser -u slurm -- slurmdbd -D > {folder}/slurmdbd.out 2>&1 &
keeper=$!
for try in $(seq 300); do sacctmgr -n show cluster > {folder}/registered 2>&1 && break; sleep 0.1; done
"""

# Nodes that need no slurmd to be free: the controller takes them for machines of a cloud that it can start.
CLOUD = """PrivateData=cloud
SuspendProgram=/bin/true
ResumeProgram=/bin/true
SuspendTime=3600
"""
# Jobs one after the other, each once the controller has given the one before its nodes.
QUESTIONS = """
placed=0
for request in {requests}; do
    sbatch --output=/dev/null $request --wrap true
    placed=$((placed + 1))
    for try in $(seq 150); do
        [ "$(squeue --noheader --states=configuring,running | wc -l)" = $placed ] && break
        sleep 0.1
    done
done
squeue --noheader --sort=i --format='%i %N' > {folder}/jobs
"""


def files_of(plan: Plan, device: str) -> dict[str, Artifact]:
    """A machine's files of Slurm, by path."""
    return {artifact.path: artifact for artifact in slurm.WRITER.render(plan, plan.by_name[device])}


def only_slurm(plan: Plan) -> Scheduler:
    """The scheduler of a plan that has one."""
    (found,) = plan.spec.schedulers
    return found


def acting(plan: Plan, scheduler: int = 0) -> str:
    """The machine that runs a scheduler's controller."""
    return controllers(plan, plan.spec.schedulers[scheduler])[0]


def controller_files(plan: Plan) -> dict[str, Artifact]:
    """The files of that machine, by path."""
    return files_of(plan, acting(plan))


def _records(own: Scheduler, folder: Path) -> str:
    """What starts the database of a Slurm and its slurmdbd; nothing where it keeps no records."""
    slurm_of = own.slurm
    if slurm_of is None or slurm_of.accounting is None:
        return ""
    database = slurm_of.accounting.database
    file = folder / slurm.DATABASE_FILE
    file.write_bytes(resolve(file.read_bytes(), {database.secret: "kept-safe"}))
    return RECORDS.format(
        folder=folder, file=slurm.DATABASE_FILE, name=database.name, user=database.user, password="kept-safe"
    )


def controller_answers(
    plan: Plan,
    folder: Path,
    requests: Sequence[str] = (),
    *,
    scheduler: int = 0,
    then: str = "",
    without: Collection[str] = (),
) -> dict[str, str]:
    """What a real controller says about our files: topology, config and nodes, and which nodes jobs get.

    ``then`` are commands of a shell that are run beside it, once it has answered; the files ``without`` are taken away.
    """
    own = plan.spec.schedulers[scheduler]
    for program, package in PACKAGES.items():
        assert shutil.which(program), f"{program} is missing: apt-get install {package}"
    controller = acting(plan, scheduler)
    files = {path: artifact for path, artifact in files_of(plan, controller).items() if path not in without}
    for path, artifact in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(artifact.content)
    host = re.search(r"^SlurmctldHost=\S+\((\S+)\)$", (folder / "etc/slurm/slurm.conf").read_text(), re.M)
    assert host is not None
    names = [d.name for d in plan.devices if d.node_group in own.nodes]
    hosts = [*controllers(plan, own), *names]
    slurm_of = own.slurm
    if slurm_of is not None and slurm_of.accounting is not None:
        hosts.append(slurm_of.accounting.database.host)
    lines = ["127.0.0.1 localhost", *(f"{host[1]} {name}" for name in hosts)]
    (folder / "hosts").write_text("\n".join(lines) + "\n")
    questions = (
        QUESTIONS.format(folder=folder, requests=" ".join(f"'{request}'" for request in requests)) if requests else ""
    )
    if requests:
        _start_from_a_cloud(folder / "etc/slurm")
    state = own.controllers.state
    script = SCRIPT.format(
        folder=folder,
        controller=controller,
        address=host[1],
        questions=questions + then,
        state=state,
        records=_records(own, folder),
    )
    done = subprocess.run(
        ["unshare", "--mount", "--net", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", script],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    said = (folder / "slurmctld.out").read_text() if (folder / "slurmctld.out").exists() else ""
    assert done.returncode == 0, done.stdout + done.stderr + said
    assert "fatal" not in said, said
    assert "Running as primary controller" in said, said
    answers = ["topology", "config", "nodes", "partitions", *(["jobs"] if requests else [])]
    return {name: (folder / name).read_text() for name in answers}


def _start_from_a_cloud(folder: Path) -> None:
    """Says of every node that the controller may start it."""
    conf = folder / "slurm.conf"
    conf.write_text(conf.read_text().replace("State=UNKNOWN", "State=CLOUD") + CLOUD)
