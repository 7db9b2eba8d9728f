# SPDX-License-Identifier: BSD-3-Clause
"""A program of 71 bytes of code for the guest; it moves data from its standard input, a pipe, to its standard output.

splice(2) hands over the pipe's pages, where `cat` would copy each page twice; no program of the guest image does that.
The machine code is the same on every host, independent of the host's compiler. The program waits with poll(2), because
a splice of an empty pipe to a virtio-serial port does not wait: the driver returns 0, as at the end of the input.
"""

import struct

_CODE = bytes.fromhex(
    "b801000000"  # mov eax, 0x1
    "48c1e020"  # shl rax, 0x20
    "50"  # push rax; the pollfd {0, POLLIN, 0}
    "4889e7"  # mov rdi, rsp; again
    "be01000000"  # mov esi, 0x1; one
    "baffffffff"  # mov edx, 0xffffffff; for ever
    "b807000000"  # mov eax, 0x7; poll
    "0f05"  # syscall
    "31ff"  # xor edi, edi; from standard input
    "31f6"  # xor esi, esi; at no offset
    "ba01000000"  # mov edx, 0x1; to standard output
    "4531d2"  # xor r10d, r10d; at no offset
    "41b800001000"  # mov r8d, 0x100000; all that is there
    "4531c9"  # xor r9d, r9d; no flags
    "b813010000"  # mov eax, 0x113; splice
    "0f05"  # syscall
    "85c0"  # test eax, eax
    "7fcc"  # jg a; until the end, which is 0, or an error
    "89c7"  # mov edi, eax
    "b8e7000000"  # mov eax, 0xe7; exit_group
    "0f05"  # syscall
)
_ADDRESS, _HEADERS_BYTES = 0x400000, 64 + 56


def program() -> bytes:
    """The program as a static ELF file with one segment, which is readable and executable."""
    size = _HEADERS_BYTES + len(_CODE)
    ident = b"\x7fELF" + bytes([2, 1, 1]) + bytes(9)  # 64 bits, little-endian, version 1
    executable, x86_64, load, read_execute = 2, 62, 1, 5
    entry = _ADDRESS + _HEADERS_BYTES
    header = struct.pack("<16sHHIQQQIHHHHHH", ident, executable, x86_64, 1, entry, 64, 0, 0, 64, 56, 1, 0, 0, 0)
    segment = struct.pack("<IIQQQQQQ", load, read_execute, 0, _ADDRESS, _ADDRESS, size, size, 4096)
    return header + segment + _CODE
