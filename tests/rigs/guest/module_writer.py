# SPDX-License-Identifier: BSD-3-Clause
"""Files with the parts that the testbed reads of a kernel module, and of the module's kernel."""

import struct

MAGIC = "6.12.1-mock SMP preempt mod_unload modversions "
KERNEL = b"\x7fELF\0version 6.12.1\0" + MAGIC.encode() + b"\0and more"  # the part of a kernel that the testbed reads
_MACHINE_X86_64, _RELOCATABLE = 62, 1


def module_bytes(name: str, magic: str = MAGIC, code: bytes = b"", machine: int = _MACHINE_X86_64) -> bytes:
    """Return an ELF file with a section .modinfo."""
    modinfo = f"license=GPL\0name={name}\0vermagic={magic}\0".encode()
    names = b"\0.text\0.modinfo\0.shstrtab\0"
    contents = [(b"", b""), (b".text", code), (b".modinfo", modinfo), (b".shstrtab", names)]
    body, headers, at = b"", b"", 64
    for section, content in contents:
        headers += struct.pack("<IIQQQQIIQQ", names.index(section), 1, 0, 0, at, len(content), 0, 0, 1, 0)
        body, at = body + content, at + len(content)
    ident = b"\x7fELF\x02\x01\x01" + bytes(9)
    elf = struct.pack("<HHIQQQIHHHHHH", _RELOCATABLE, machine, 1, 0, 0, at, 0, 64, 0, 0, 64, len(contents), 3)
    return ident + elf + body + headers
