"""The machines of `make test-cross`: what each is called by Rust, gcc, Debian and QEMU,
and how the kernel knows its programs.
"""

from dataclasses import dataclass

# the first 20 bytes of a program (ELF header: class, byte order, kind, machine), as
# binfmt_misc compares them; EF and EF FF ignore what differs between programs and
# libraries
LITTLE = b"\xff" * 7 + b"\0" * 9 + b"\xfe\xff\xff\xff"
BIG = b"\xff" * 7 + b"\0" * 9 + b"\xff\xfe\xff\xff"


@dataclass(frozen=True)
class Machine:
    """A machine. `loader` is where its programs look for their loader; `qemu` is empty
    where the processor itself runs them.
    """

    name: str
    rust: str
    gnu: str
    debian: str
    loader: str
    qemu: str
    magic: bytes
    mask: bytes
    bits: int = 64

    @property
    def gcc(self):
        """The package of the compiler: the name of the machine with - for _."""
        return f"gcc-{self.gnu.replace('_', '-')}"

    @property
    def environment(self):
        """What makes cargo and the suites build for this machine."""
        upper = self.rust.upper().replace("-", "_")
        return {
            "CARGO_BUILD_TARGET": self.rust,
            f"CARGO_TARGET_{upper}_LINKER": f"{self.gnu}-gcc",
            f"CC_{self.rust.replace('-', '_')}": f"{self.gnu}-gcc",
            "CC": f"{self.gnu}-gcc",
        }


def elf(bits, big, machine):
    """Returns the first bytes of programs of a machine, by its number in ELF."""
    order = "big" if big else "little"
    head = b"\x7fELF" + bytes([bits // 32, 2 if big else 1, 1]) + b"\0" * 9
    return head + (2).to_bytes(2, order) + machine.to_bytes(2, order)


MACHINES = {
    machine.name: machine
    for machine in (
        # big-endian
        Machine(
            "s390x",
            "s390x-unknown-linux-gnu",
            "s390x-linux-gnu",
            "s390x",
            "/lib/ld64.so.1",
            "qemu-s390x",
            elf(64, True, 22),
            BIG,
        ),
        Machine(
            "i686",
            "i686-unknown-linux-gnu",
            "i686-linux-gnu",
            "i386",
            "/lib/ld-linux.so.2",
            "qemu-i386",
            elf(32, False, 3),
            LITTLE,
            bits=32,
        ),
        Machine(
            "arm64",
            "aarch64-unknown-linux-gnu",
            "aarch64-linux-gnu",
            "arm64",
            "/lib/ld-linux-aarch64.so.1",
            "qemu-aarch64",
            elf(64, False, 183),
            LITTLE,
        ),
        Machine(
            "armv7",
            "armv7-unknown-linux-gnueabihf",
            "arm-linux-gnueabihf",
            "armhf",
            "/lib/ld-linux-armhf.so.3",
            "qemu-arm",
            elf(32, False, 40),
            LITTLE,
            bits=32,
        ),
    )
}

# no machine that runs programs: the core only has to compile, where it reads maps from
# bytes and has no files
WASM = Machine("wasm32", "wasm32-unknown-unknown", "", "", "", "", b"", b"", bits=32)
# what Debian has no library of Rust for; `make check-targets` takes rustup's
ELSEWHERE = ("windows", "macos")
