"""What tests of the cap service ask of the kernel: an older one, a pid again, a descriptor whose last close takes an hour."""
import array
import contextlib
import ctypes
import os
import platform
import socket
import struct

SO_PEERPIDFD, SO_PASSRIGHTS = 77, 83
LIBC = ctypes.CDLL(None, use_errno=True)


def has_option(option):
    """Does this kernel know the option of a UNIX socket?"""
    a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with a, b:
        try:
            os.close(a.getsockopt(socket.SOL_SOCKET, option)) if option == SO_PEERPIDFD else a.getsockopt(socket.SOL_SOCKET, option)
        except OSError:
            return False
    return True


def be_older(*options):
    """For this process and its children, the kernel does not know these options of sockets (seccomp: ENOPROTOOPT)."""
    set_nr, get_nr = {"x86_64": (54, 55), "aarch64": (208, 209)}[platform.machine()]
    ld, jeq, ret = 0x20, 0x15, 0x06  # BPF_LD|W|ABS, BPF_JMP|JEQ|K, BPF_RET|K
    allow, refuse = 0x7FFF0000, 0x00050000 | 92  # SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO with ENOPROTOOPT
    code = [(ld, 0, 0, 0), (jeq, 1, 0, set_nr), (jeq, 0, 1 + len(options), get_nr), (ld, 0, 0, 32)]  # struct seccomp_data: nr, args[2]
    code += [(jeq, len(options) - i, 0, option) for i, option in enumerate(options)]
    code += [(ret, 0, 0, allow), (ret, 0, 0, refuse)]
    text = ctypes.create_string_buffer(b"".join(struct.pack("<HBBI", *line) for line in code))
    program = struct.pack("@HP", len(code), ctypes.addressof(text))
    pr_set_seccomp, filter_mode = 22, 2
    if LIBC.prctl(pr_set_seccomp, filter_mode, ctypes.create_string_buffer(program), 0, 0):
        raise OSError(ctypes.get_errno(), "seccomp")


def lingering():
    """A TCP socket whose last close() waits an hour for a peer that does not read. Returns it, and what has to stay open meanwhile."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        ours = socket.create_connection(server.getsockname())
        peer, _ = server.accept()
    ours.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        while True:
            ours.send(bytes(1 << 16))
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 3600))
    return ours, peer


def give(connection, data, passed):
    """Sends a packet that alone keeps `passed` open. False: the kernel refuses (SO_PASSRIGHTS)."""
    sent = False
    try:
        connection.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [passed.fileno()]))])
        sent = True
    except PermissionError:
        pass
    finally:
        if not sent:
            passed.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 0, 0))
        passed.close()
    return sent


def start_as(pid, words):
    """A process with this pid, which is free. Its own pid, or 0: somebody else was faster."""
    nr_clone3, sigchld = 435, 17
    wanted = ctypes.c_int(pid)
    args = struct.pack("<11Q", 0, 0, 0, 0, sigchld, 0, 0, 0, ctypes.addressof(wanted), 1, 0)  # struct clone_args
    got = LIBC.syscall(nr_clone3, ctypes.create_string_buffer(args), len(args))
    if got == 0:
        os.execvp(words[0], words)
    return max(got, 0)
