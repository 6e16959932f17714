"""What a reader process may no longer do once it meets its first document.

The threat: a parser with a fault, or a document made to exploit one. It must not take the
machine with it (memory, processor, disk, descriptors), nor reach other files, the network or
another program.

What holds where:
- resource limits: address space, processor time between frames, descriptors, no core dump,
  no file growth. Linux; macOS lacks the address space, where the parent watches instead.
- a seccomp filter: no new socket, process or program, no file opened for writing, created,
  renamed, removed or re-permissioned, whatever code asks. Linux on x86-64 and arm64.
- an audit hook: the same refusals for Python code on every platform, and reading of files
  that belong neither to Python nor to this program. It does not see what C code does on its
  own, so away from Linux it stops mistakes and XML tricks, not an attacker who runs code.
- death with the parent: by signal (Linux), else by a thread that watches the parent.
Not covered: reading files by C code, the document itself being wrong or misleading, and on
Windows any limit but wall-clock time.
"""

from __future__ import annotations

import contextlib
import errno
import os
import struct
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

if sys.platform != "win32":
    import resource

PARENT_POLL_S = 1.0  # seconds between two looks at the parent, where no signal announces its end
WRITE_FLAGS = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND

_PREFIXES = ("socket.", "shutil.", "tempfile.", "sqlite3.", "urllib.", "webbrowser.", "winreg.")
_REFUSED = frozenset(
    str.split(
        "subprocess.Popen pty.spawn "
        "os.exec os.fork os.forkpty os.posix_spawn os.spawn os.startfile os.system "
        "os.kill os.killpg os.chdir os.chflags os.chmod os.chown os.link os.lockf os.mkdir "
        "os.remove os.removexattr os.rename os.rmdir os.setxattr os.symlink os.truncate os.utime"
    )
)
_LISTINGS = frozenset({"os.listdir", "os.scandir", "os.walk", "os.fwalk"})
_DEVICES = frozenset({"/dev/null", "/dev/urandom"})
_TIME_ZONES = (
    "/usr/share/zoneinfo",
    "/usr/lib/zoneinfo",
    "/usr/share/lib/zoneinfo",
    "/etc/zoneinfo",
)


def end_with_parent(parent: int) -> None:
    """Make this process die when process `parent` does, also when that is killed."""
    if sys.platform == "win32":
        _watch(_wait_for_windows_parent(parent))
        return
    if sys.platform == "linux" and _prctl(1, 9):  # PR_SET_PDEATHSIG, SIGKILL
        if os.getppid() != parent:
            os._exit(1)
        return

    def wait() -> None:
        while os.getppid() == parent:
            time.sleep(PARENT_POLL_S)

    _watch(wait)


def limit_resources(memory: int, open_files: int) -> None:
    """Cap memory (bytes of address space) and descriptors; no core dump, no file growth."""
    if sys.platform == "win32":
        return
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_FSIZE, 0)
    _limit(resource.RLIMIT_NOFILE, open_files)
    if sys.platform == "linux":
        _limit(resource.RLIMIT_AS, memory)
    elif os.getuid() != 0:
        _limit(resource.RLIMIT_NPROC, 0)


def allow_cpu(seconds: int) -> None:
    """Let this process use `seconds` of processor time from now; then it is ended."""
    if sys.platform != "win32":
        hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
        wanted = int(time.process_time()) + 1 + seconds
        if hard != resource.RLIM_INFINITY:
            wanted = min(wanted, hard)
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_CPU, (wanted, hard))


def refuse_in_python(readable: list[str]) -> None:
    """Refuse sockets, processes, writing, and reading outside the folders `readable`.

    It cannot be undone. What is refused raises PermissionError in the code that tried.
    """
    roots = tuple(
        os.path.join(os.path.abspath(path), "") for path in (*readable, *_TIME_ZONES) if path
    )

    def inside(path: Any) -> bool:
        if isinstance(path, int):
            return True
        if path is None:
            return False
        full = os.path.abspath(os.fsdecode(path))
        return full in _DEVICES or (full + os.sep).startswith(roots)

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, mode, flags = arguments
            writes = isinstance(flags, int) and flags & WRITE_FLAGS
            if writes or (isinstance(mode, str) and set(mode) & set("wax+")) or not inside(path):
                raise PermissionError(errno.EACCES, "a reader process may not open this file")
        elif event in _REFUSED or event.startswith(_PREFIXES):
            raise PermissionError(errno.EPERM, f"a reader process may not do this ({event})")
        elif event in _LISTINGS and not inside(arguments[0]):
            raise PermissionError(errno.EACCES, "a reader process may not list this folder")

    sys.addaudithook(hook)


def refuse_in_kernel() -> bool:
    """Install the seccomp filter; False where this system has none that we know."""
    if sys.platform != "linux" or os.uname().machine not in _MACHINES or sys.maxsize < 2**32:
        return False
    import ctypes

    program = _filter(*_MACHINES[os.uname().machine])
    held = ctypes.create_string_buffer(program)

    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))

    pointer = ctypes.byref(Program(len(program) // 8, ctypes.addressof(held)))
    return _prctl(38, 1) and _prctl(22, 2, pointer)  # PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP


# --- death with the parent -----------------------------------------------------------


def _watch(wait: Callable[[], None]) -> None:
    def watch() -> None:
        wait()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _wait_for_windows_parent(parent: int) -> Callable[[], None]:
    import _winapi

    winapi: Any = _winapi  # the module is empty in the eyes of other platforms' type checkers
    handle = winapi.OpenProcess(0x00100000, False, parent)  # SYNCHRONIZE
    return lambda: winapi.WaitForSingleObject(handle, winapi.INFINITE)


# --- limits --------------------------------------------------------------------------


def _limit(which: int, value: int) -> None:
    hard = resource.getrlimit(which)[1]
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(which, (value, value))


def _prctl(option: int, first: int, second: Any = 0) -> bool:
    try:
        import ctypes

        return int(ctypes.CDLL(None).prctl(option, first, second, 0, 0)) == 0
    except (ImportError, OSError, AttributeError):
        return False


# --- the seccomp filter --------------------------------------------------------------
# System call numbers by machine: the audit architecture, those refused outright, clone,
# and the opening calls with the offset of their flags in the call's data.

_X86_64 = (
    0xC000003E,
    (
        # socket connect bind listen socketpair, fork vfork execve execveat, kill tkill ptrace
        *(41, 42, 49, 50, 53, 57, 58, 59, 322, 62, 200, 101),
        # truncate rename mkdir rmdir creat link unlink symlink chmod fchmod chown fchown lchown
        *(76, 82, 83, 84, 85, 86, 87, 88, 90, 91, 92, 93, 94),
        # utime mknod utimes mkdirat mknodat fchownat futimesat unlinkat renameat linkat symlinkat
        *(132, 133, 235, 258, 259, 260, 261, 263, 264, 265, 266),
        # fchmodat utimensat renameat2 fchmodat2, the setters and removers of attributes
        *(268, 280, 316, 452, 188, 189, 190, 197, 198, 199),
        # mount unshare setns open_by_handle_at process_vm_readv/writev bpf io_uring_setup
        *(165, 272, 308, 304, 310, 311, 321, 425),
    ),
    56,
    ((2, 24), (257, 32)),
)
_AARCH64 = (
    0xC00000B7,
    (
        # socket socketpair bind listen connect, execve execveat, kill tkill ptrace
        *(198, 199, 200, 201, 203, 221, 281, 129, 130, 117),
        # mknodat mkdirat unlinkat symlinkat linkat renameat truncate fchmod fchmodat fchownat
        *(33, 34, 35, 36, 37, 38, 45, 52, 53, 54),
        # fchown utimensat renameat2 fchmodat2, the setters and removers of attributes
        *(55, 88, 276, 452, 5, 6, 7, 14, 15, 16),
        # mount unshare setns open_by_handle_at process_vm_readv/writev bpf io_uring_setup
        *(40, 97, 268, 265, 270, 271, 280, 425),
    ),
    220,
    ((56, 32),),
)
_MACHINES = {"x86_64": _X86_64, "aarch64": _AARCH64}
_UNKNOWN_CALLS = (435, 437)  # clone3, openat2: their flags lie in memory; libc has a fallback
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_CLONE_THREAD = 0x10000
_FIRST_ARGUMENT = 16  # offset in the call's data
_LINUX_WRITE_FLAGS = 0x1 | 0x2 | 0x40 | 0x200  # O_WRONLY O_RDWR O_CREAT O_TRUNC


def _filter(
    architecture: int, refused: tuple[int, ...], clone: int, opens: tuple[tuple[int, int], ...]
) -> bytes:
    load, equal, has_bit, give = 0x20, 0x15, 0x45, 0x06
    rules = [
        (load, 0, 0, 4),
        (equal, 1, 0, architecture),
        (give, 0, 0, _ALLOW),
        (load, 0, 0, 0),
    ]
    for number in refused:
        rules += [(equal, 0, 1, number), (give, 0, 0, _ERRNO | errno.EPERM)]
    for number in _UNKNOWN_CALLS:
        rules += [(equal, 0, 1, number), (give, 0, 0, _ERRNO | errno.ENOSYS)]
    rules += [
        (equal, 0, 4, clone),
        (load, 0, 0, _FIRST_ARGUMENT),
        (has_bit, 1, 0, _CLONE_THREAD),
        (give, 0, 0, _ERRNO | errno.EPERM),
        (give, 0, 0, _ALLOW),
    ]
    for number, offset in opens:
        rules += [
            (equal, 0, 4, number),
            (load, 0, 0, offset),
            (has_bit, 0, 1, _LINUX_WRITE_FLAGS),
            (give, 0, 0, _ERRNO | errno.EACCES),
            (give, 0, 0, _ALLOW),
        ]
    rules.append((give, 0, 0, _ALLOW))
    return b"".join(struct.pack("HBBI", *rule) for rule in rules)
