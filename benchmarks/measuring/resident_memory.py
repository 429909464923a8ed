"""Resident memory of this process: now, and its peak since a moment (Linux) or since the start (elsewhere)."""

import resource
import sys
from pathlib import Path

import psutil

_PEAK_RESET = "5"  # proc(5): resets the peak resident set size to what it is now


def resident_bytes() -> int:
    return int(psutil.Process().memory_info().rss)


def forget_peak() -> bool:
    """Reset the peak to the memory in use; False if the system cannot."""
    try:
        Path("/proc/self/clear_refs").write_text(_PEAK_RESET)
    except OSError:
        return False
    return True


def peak_bytes() -> int:
    """The peak since `forget_peak`, or since the process began."""
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    unit = 1 if sys.platform == "darwin" else 1024  # getrusage(2): kilobytes, bytes on macOS
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
