"""Becomes another program that does not outlive its parent: `python -I -S launch.py PARENT SIGNAL USER PROGRAM …`.

A script of its own, because what it does has to happen between fork and exec, where a Python
`preexec_fn` is not safe once the parent has threads. It imports nothing but the standard library.

- Linux sends SIGNAL to the program when the parent dies in whatever way, kill -9 included.
- SIGINT, SIGHUP, SIGPIPE and SIGTERM have their defaults in the program. A process inherits which signals its
  parent ignores, and the program has to end on SIGNAL from its first moment.
- USER is an account to become, or "-". Postgres refuses to run as root, so root starts it as
  `nobody`; that account keeps the one capability to pass through folders closed to it, since the
  virtual environment or the data directory may lie below /root.
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
    _die_with(int(parent), int(signal_number))
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
    """Keep the weakest capability that lets `user` through closed folders; without any, go on as we are."""
    libc = _libc()
    header = struct.pack("=Ii", _CAPABILITY_VERSION_3, 0)
    for capability in (_CAP_DAC_READ_SEARCH, _CAP_DAC_OVERRIDE):
        if libc.prctl(_PR_CAPBSET_READ, capability, 0, 0, 0) != 1:
            continue
        mask = 1 << capability
        # effective, permitted, inheritable: of capabilities 0 to 31, then of the rest
        data = struct.pack("=6I", mask, mask, mask, 0, 0, 0)
        if libc.capset(header, data) == 0:
            libc.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_RAISE, capability, 0, 0)
            return


def _die_with(parent: int, signal_number: int) -> None:
    if sys.platform != "linux":
        return
    _libc().prctl(_PR_SET_PDEATHSIG, signal_number, 0, 0, 0)
    if os.getppid() != parent:  # it died before we had asked to be told
        raise SystemExit(0)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


if __name__ == "__main__":
    main(sys.argv[1:])
