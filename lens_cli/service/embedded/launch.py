"""Starts a program that ends with its parent: `python -I -S launch.py PARENT SIGNAL USER PROGRAM …`.

This is a separate script because its work has to happen between fork and exec. A Python `preexec_fn`
is not safe there once the parent has threads. The script imports only the standard library.

- Linux sends SIGNAL to the program when the parent dies in any way, including kill -9.
- SIGINT, SIGHUP, SIGPIPE and SIGTERM have their defaults in the program. A process inherits which signals its
  parent ignores, and the program has to end on SIGNAL from its first moment.
- USER is the account that runs the program: a name, a number, or "-" for the current one. From root it is one way:
  the program keeps no capability, and none of the programs that it starts can regain one.
"""

import ctypes
import os
import pwd
import signal
import sys

_PR_SET_PDEATHSIG = 1
_PR_SET_NO_NEW_PRIVS = 38


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
    if user.isdecimal():
        uid = gid = int(user)
    else:
        account = pwd.getpwnam(user)
        uid, gid = account.pw_uid, account.pw_gid
    os.setgroups([])
    os.setgid(gid)
    os.setuid(uid)
    if sys.platform == "linux":
        _libc().prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


if __name__ == "__main__":
    main(sys.argv[1:])
