"""A job over two machines: a batch script that starts steps on both, and ranks that meet as PyTorch's do.

Nothing of PyTorch is in the image. ``RENDEZVOUS`` does what `torch.distributed` with gloo does on sockets: the first
rank's store listens on MASTER_PORT, every rank listens on a port that the kernel chose, says so through the store, is
dialled there by all others, and they add up a number (TCPStore.cpp and gloo's tcp transport are the model).
"""

from __future__ import annotations

from pathlib import Path

RENDEZVOUS = """\
import json, os, socket, time
rank, world = int(os.environ["SLURM_PROCID"]), int(os.environ["SLURM_NTASKS"])
place = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
family, _, _, _, master = socket.getaddrinfo(*place, type=socket.SOCK_STREAM)[0]
own = socket.create_server(("", 0), family=family)
if rank == 0:
    store = socket.create_server(("", place[1]), family=family)
    said = [[master[0], own.getsockname()[1]]]
    ranks = [store.accept() for _ in range(world - 1)]
    said += [[where[0], json.loads(link.makefile().readline())] for link, where in ranks]
    for link, _ in ranks:
        link.sendall((json.dumps(said) + "\\n").encode())
else:
    for _ in range(60):
        try:
            link = socket.create_connection(place, 10)
            break
        except OSError:
            time.sleep(1)
    link.sendall(f"{own.getsockname()[1]}\\n".encode())
    said = json.loads(link.makefile().readline())
dialled = [socket.create_connection(tuple(each), 60) for at, each in enumerate(said) if at != rank]
for link in dialled:
    link.sendall(f"{rank + 1}\\n".encode())
heard = [int(own.accept()[0].makefile().readline()) for _ in range(world - 1)]
print("sum", rank + 1 + sum(heard), "of", world, "on", os.uname().nodename)
"""
SCRIPT = f"""\
#!/bin/sh
set -eu
srun --kill-on-bad-exit uname -n
export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -1) MASTER_PORT=PORT
srun --kill-on-bad-exit python3 -c '{RENDEZVOUS}'
"""


def write(folder: Path, port: int) -> None:
    """Put the batch script where the controller's users find it."""
    (folder / "job.sh").write_text(SCRIPT.replace("PORT\n", f"{port}\n"))
