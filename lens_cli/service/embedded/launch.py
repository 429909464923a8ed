"""Starts a program that ends with its parent: `python -I -S launch.py PARENT SIGNAL USER PROGRAM …`.

This is a separate script because its work has to happen between fork and exec. A Python `preexec_fn`
is not safe there once the parent has threads. The script imports only the standard library.

- Linux sends SIGNAL to the program when the parent dies in any way, including kill -9.
- SIGINT, SIGHUP, SIGPIPE and SIGTERM have their defaults in the program. A process inherits which signals its
  parent ignores, and the program has to end on SIGNAL from its first moment.
- USER is the account that runs the program, or "-" for the current one. Postgres refuses to run as
  root, so root starts Postgres as `nobody`. That account keeps one capability: to pass through closed
  folders, because the virtual environment or the data directory may be below /root.
"""

import ctypes
import os
import pwd
import signal
import struct
import sys

_PR_SET_PDEATHSIG = 1
_PR_CAPBSET_READ = 23
_PR_SET_KEEPCAPS = 8
_PR_CAP_AMBIENT = 47
_PR_CAP_AMBIENT_RAISE = 2
_CAP_DAC_OVERRIDE = 1
_CAP_DAC_READ_SEARCH = 2
_CAPABILITY_VERSION_3 = 0x20080522


def main(arguments: list[str]) -> None:
    parent, signal_number, user, *command = arguments
    if user != "-":
        _become(user)
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGPIPE, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    if sys.platform == "linux":
        _libc().prctl(_PR_SET_PDEATHSIG, int(signal_number), 0, 0, 0)
        if os.getppid() != int(parent):  # the parent died before the request above
            raise SystemExit(0)
    os.execv(command[0], command)


def _become(user: str) -> None:
    account = pwd.getpwnam(user)
    if sys.platform == "linux":
        _libc().prctl(_PR_SET_KEEPCAPS, 1, 0, 0, 0)
    os.setgroups([])
    os.setgid(account.pw_gid)
    os.setuid(account.pw_uid)
    if sys.platform == "linux":
        _keep_passage()


def _keep_passage() -> None:
    """Keep the weakest capability that lets the account pass through closed folders, if one is available."""
    libc = _libc()
    header = struct.pack("=Ii", _CAPABILITY_VERSION_3, 0)
    for capability in (_CAP_DAC_READ_SEARCH, _CAP_DAC_OVERRIDE):
        if libc.prctl(_PR_CAPBSET_READ, capability, 0, 0, 0) != 1:
            continue
        mask = 1 << capability
        # effective, permitted, inheritable: for capabilities 0 to 31, then for the others
        data = struct.pack("=6I", mask, mask, mask, 0, 0, 0)
        if libc.capset(header, data) == 0:
            libc.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_RAISE, capability, 0, 0)
            return


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


if __name__ == "__main__":
    main(sys.argv[1:])
