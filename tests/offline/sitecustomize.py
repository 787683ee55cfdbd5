"""With this folder on PYTHONPATH, Python reaches nothing beyond its own machine, and writes down what it was to reach.

Python imports a module of this name as it starts, in a notebook's kernel too. An audit hook sees the sockets of
every library and cannot be taken off again.
"""

import ipaddress
import os
import platform
import sys
from pathlib import Path

HERE = {"", "localhost", platform.node()}


def is_here(host):
    """Whether an address or a name is this machine's own."""
    if host is None or host in HERE:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def refuse_to_leave(event, arguments):
    if event in ("socket.connect", "socket.sendto", "socket.sendmsg"):
        address = arguments[1]
        host = address[0] if isinstance(address, tuple) else None  # a socket in the file system has a path
    elif event in ("socket.getaddrinfo", "socket.gethostbyname"):
        host = arguments[0]
    else:
        return
    if not is_here(host):
        if "OFFLINE_LOG" in os.environ:
            with Path(os.environ["OFFLINE_LOG"]).open("a", encoding="utf-8") as log:
                log.write(f"{event} {host}\n")
        raise RuntimeError(f"{event} {host}: nothing may be fetched at run time")


sys.addaudithook(refuse_to_leave)
