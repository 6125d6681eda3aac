"""What a device can make a difference to, and what differs between any two pods."""

from __future__ import annotations

from fixtures.workload.surroundings import additions, surroundings

POD = "8b562c79-1111-2222-3333-444455556666"
FOUND = {
    "environment": [
        "PATH=/bin",
        "HOSTNAME=p",
        "KUBERNETES_SERVICE_HOST=10.0.0.1",
        "WEB_SERVICE_PORT_HTTP=80",
        "WEB_PORT=tcp://10.0.0.2:80",
        "WEB_PORT_80_TCP_ADDR=10.0.0.2",
        "RDMA_PORT=1",
        "a second line",
    ],
    "files": [
        "/dev/null|character special file|1:3",
        "/dev/pts/0|character special file|88:0",
        "/dev/termination-log|regular empty file|0:0",
        "/dev/accel0|block special file|64:0",
    ],
    "mounts": [
        "1 0 0:50 / / rw,relatime - overlay overlay rw,lowerdir=/x,upperdir=/y",
        "2 1 0:51 / /proc rw,nosuid - proc proc rw",
        "3 1 0:52 /kubepods/x /sys/fs/cgroup ro - cgroup2 cgroup rw",
        f"4 1 8:1 /var/lib/kubelet/pods/{POD}/etc-hosts /etc/hosts rw master:1 - ext4 /dev/sda1 rw",
        f"5 1 8:1 /var/lib/kubelet/pods/{POD}/volumes/x /data rw - ext4 /dev/sda1 rw",
        "6 1 8:1 /opt/gpu/lib /usr/lib/gpu ro - ext4 /dev/sda1 rw",
        "7 1 0:60 / /dev/shm rw -",
    ],
    "links": ["lo 00:00:00:00:00:00", "eth0 02:00:00:00:00:01"],
    "cpus": ["Cpus_allowed_list:\t0-1"],
}


def test_what_is_another_in_every_pod_is_left_out() -> None:
    assert surroundings(FOUND) == {
        "variable PATH": "/bin",
        "variable RDMA_PORT": "1",
        "file /dev/null": "character special file 1:3",
        "file /dev/accel0": "block special file 64:0",
        "mount /proc": "/ proc proc",
        "mount /usr/lib/gpu": "/opt/gpu/lib ext4 /dev/sda1",
        "mount /dev/shm": "/  ",
        "link lo": "00:00:00:00:00:00",
        "link eth0": "02:00:00:00:00:01",
        "CPUs": "0-1",
    }


def test_what_differs_between_plain_containers_does_not_count() -> None:
    first = {"file /dev/null": "1:3", "link eth0": "a", "CPUs": "0-1", "variable TRACE": "1"}
    other = {"file /dev/null": "1:3", "link eth0": "b", "CPUs": "0-1"}
    assert additions({**other, "link eth0": "c", "variable TRACE": "2"}, [first, other]) == set()
    with_device = {"CPUs": "1", "link eth0": "c", "link net1": "d", "file /dev/accel0": "64:0"}
    assert additions(with_device, [first, other]) == {
        "CPUs=1",
        "link net1=d",
        "file /dev/accel0=64:0",
        "no file /dev/null",
    }
