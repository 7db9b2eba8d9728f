# SPDX-License-Identifier: BSD-3-Clause
"""Export, import and choice of images: an import gives the same content, or one error sentence and no image."""

import io
import json
import re
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from testbed.build import components, image_archive, images, sums
from testbed.build.cache import Cache
from testbed.build.components import Product
from testbed.errors import TestbedError

KEYS = {name: digit * 64 for name, digit in (("qemu", "a"), ("buildroot", "b"), ("base", "c"), ("tools", "d"))}
FILES = {"qemu": ("bin/qemu", "share/qemu/rom"), "base": ("vmlinux",), "tools": ("tools.cpio",)}


def fill(out: Path, part: str) -> None:
    for name in FILES[part]:
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_text(f"{part} {name}")
        (out / name).chmod(0o755 if "bin/" in name else 0o644)


@dataclass
class Exported:
    """An archive, the image in it, and an empty cache."""

    path: Path
    image: images.Image
    empty: Cache

    def rewrite(self, change: Callable[[str, bytes], tuple[tarfile.TarInfo, bytes] | None]) -> None:
        """Rewrite the archive: `change` returns the new entry and content of each member, or None to drop it."""
        with tarfile.open(self.path) as tar:
            members = [(one.name, tar.extractfile(one).read()) for one in tar]  # type: ignore[union-attr]
        with tarfile.open(self.path, "w") as tar:
            for entry, content in filter(None, (change(*member) for member in members)):
                entry.size = len(content)
                tar.addfile(entry, io.BytesIO(content))


@pytest.fixture
def exported(tmp_path: Path) -> Exported:
    cache = Cache(tmp_path / "mine")
    products = {"buildroot": Product(tmp_path / "no-such-folder", KEYS["buildroot"])}
    for part in FILES:
        path = cache.get_or_build(part, KEYS[part], lambda out, _, part=part: fill(out, part))  # type: ignore[misc]
        products[part] = Product(path, KEYS[part])
    image = images.of(products)
    image_archive.write(tmp_path / "image.tar", image, products)
    return Exported(tmp_path / "image.tar", image, Cache(tmp_path / "theirs"))


def test_an_image_comes_whole_and_can_be_chosen(exported: Exported, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a chosen image nothing is built, and component keys are the image's, as in results made with it."""
    monkeypatch.setenv("TESTBED_CACHE", str(exported.empty.root))
    image = image_archive.take(exported.path, exported.empty)
    assert image == exported.image and image.name == images.name_of(KEYS)
    monkeypatch.setenv(images.CHOSEN, image.name[:6])
    monkeypatch.setattr(components, "component_key", None)
    assert components.keys() == KEYS
    products = components.build(cache=exported.empty)
    assert {name: product.key for name, product in products.items()} == KEYS
    program = products["qemu"].path / "bin/qemu"
    assert (program.read_text(), program.stat().st_mode & 0o777) == ("qemu bin/qemu", 0o755)
    assert images.paths(exported.empty) == {products[part].path for part in FILES}
    what = r"TESTBED_IMAGE names has no mtree, and no buildroot to make it with; export it with --workload mtree, or"
    with pytest.raises(TestbedError, match=what):
        components.build_component(components.component("mtree"), products, exported.empty)


def test_equal_images_are_equal_bytes_and_can_come_twice(exported: Exported, tmp_path: Path) -> None:
    for _ in range(2):
        image = image_archive.take(exported.path, exported.empty)
    products = {name: Product(exported.empty.path(name, key), key) for name, key in KEYS.items()}
    image_archive.write(tmp_path / "again.tar", image, products)
    assert (tmp_path / "again.tar").read_bytes() == exported.path.read_bytes()


@pytest.mark.parametrize("chosen", ["0123456789abcdef", "x", "ab"])
def test_an_image_that_is_not_there_is_named(exported: Exported, chosen: str, monkeypatch: pytest.MonkeyPatch) -> None:
    image_archive.take(exported.path, exported.empty)
    monkeypatch.setenv(images.CHOSEN, chosen)
    with pytest.raises(TestbedError, match=rf"is '{chosen}', which is no image here; .*: {exported.image.name}"):
        images.chosen(exported.empty)


def test_an_image_that_was_damaged_or_removed_since_is_said(
    exported: Exported, monkeypatch: pytest.MonkeyPatch
) -> None:
    image = image_archive.take(exported.path, exported.empty)
    monkeypatch.setenv(images.CHOSEN, image.name)
    path = exported.empty.path("base", KEYS["base"])
    (path / "vmlinux").write_text("")
    with pytest.raises(TestbedError, match=r"vmlinux is damaged: it has 0 bytes instead of 12"):
        components.build(cache=exported.empty)
    path.rename(path.with_name("elsewhere"))
    with pytest.raises(TestbedError, match=r"lacks .*; import it again: testbed image import FILE"):
        components.build(cache=exported.empty)


def test_what_is_there_with_other_content_is_named_and_stays(exported: Exported) -> None:
    path = exported.empty.get_or_build("base", KEYS["base"], lambda out, _: fill(out, "tools"))
    with pytest.raises(TestbedError, match=r"is there with other content: tools.cpio, vmlinux; remove that folder"):
        image_archive.take(exported.path, exported.empty)
    assert (path / "tools.cpio").exists()


# ---- Invalid images ----


def entry(name: str) -> tarfile.TarInfo:
    return tarfile.TarInfo(name)


def listing(change: Callable[[dict[str, Any]], object]) -> Callable[[str, bytes], tuple[tarfile.TarInfo, bytes]]:
    """A change for `Exported.rewrite` that edits the archive's list."""

    def changed(name: str, content: bytes) -> tuple[tarfile.TarInfo, bytes]:
        if name == image_archive.LIST:
            stated = json.loads(content)
            change(stated)
            content = json.dumps(stated).encode()
        return entry(name), content

    return changed


def renamed(to: str) -> Callable[[dict[str, Any]], object]:
    return lambda stated: stated["files"]["base"].update({to: stated["files"]["base"].pop("vmlinux")})


def link(name: str, content: bytes) -> tuple[tarfile.TarInfo, bytes]:
    made = entry(name)
    if name == "base/vmlinux":
        made.type, made.linkname, content = tarfile.SYMTYPE, "/etc/passwd", b""
    return made, content


WRONG = [
    (listing(lambda stated: stated.update(format=2)), r"is of format 2, and this testbed reads 1"),
    (listing(lambda stated: stated.pop("keys")), r"states no image: Field required"),
    (
        listing(lambda stated: stated["files"].pop("base")),
        r"its parts are not qemu, base, tools and components with keys",
    ),
    (listing(lambda stated: stated["keys"].update({"../x": "a" * 64})), r"states no image: String should match"),
    (listing(lambda stated: stated["keys"].update(base="../../x")), r"states no image: String should match"),
    *((listing(renamed(name)), r"would leave its folder") for name in ("../x", "/x", "a/../../x", "", "a//b", "x\0")),
    (lambda name, content: (entry(name.replace("base/", "base/../")), content), r"which is not as its list says"),
    (
        lambda name, content: (entry(name), content + b"x" * (name == "base/vmlinux")),
        r"'base/vmlinux', which is not as",
    ),
    (link, r"'base/vmlinux', which is not as its list says"),
    (
        lambda name, content: (entry(name), content.upper() if name == "base/vmlinux" else content),
        r"damaged: the content of vmlinux does not match its list",
    ),
    (lambda name, content: None if name == "base/vmlinux" else (entry(name), content), r"base/vmlinux is missing"),
    (lambda name, content: None if name == image_archive.LIST else (entry(name), content), r"does not begin with its"),
]


@pytest.mark.parametrize(("change", "said"), WRONG)
def test_what_is_no_image_is_one_sentence_and_leaves_nothing(exported: Exported, change: Any, said: str) -> None:
    exported.rewrite(change)
    refused(exported, said)


def refused(exported: Exported, said: str) -> None:
    with pytest.raises(TestbedError, match=said) as caught:
        image_archive.take(exported.path, exported.empty)
    assert caught.value.exit_status == 2 and str(exported.path) in str(caught.value)
    root = exported.empty.root
    assert images.known(exported.empty) == []
    outside = [path for path in exported.path.parent.iterdir() if path.name not in ("mine", "theirs", "image.tar")]
    assert outside == [] and not list(root.glob("building/*"))
    for entry_of in exported.empty.entries():  # undamaged parts may have been imported
        assert re.fullmatch("qemu|base|tools", entry_of.name) and sums.recorded(entry_of.path)


def test_a_truncated_archive_is_one_sentence_wherever_it_ends(exported: Exported) -> None:
    whole = exported.path.read_bytes()
    with tarfile.open(exported.path) as tar:
        ends = max(member.offset_data + member.size for member in tar)  # only zeros follow
    assert ends > 4096
    for size in range(0, ends, 256):
        exported.path.write_bytes(whole[:size])
        refused(exported, r"is no (whole )?image|states no image")


@pytest.mark.parametrize("content", [b"", b"text", b"\0" * 10240])
def test_a_file_that_is_no_archive_is_one_sentence(exported: Exported, content: bytes) -> None:
    exported.path.write_bytes(content)
    refused(exported, r"is no (whole )?image")


def test_a_folder_and_a_file_that_is_not_there_are_no_images(exported: Exported, tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none", Path("/dev/zero")):
        with pytest.raises(TestbedError, match=r"is no file; give one that `testbed image export` has written"):
            image_archive.take(path, exported.empty)


def test_an_archive_that_cannot_be_written_is_one_sentence(exported: Exported, tmp_path: Path) -> None:
    products = {name: Product(tmp_path / "none", key) for name, key in KEYS.items()}
    with pytest.raises(TestbedError, match=r"cannot write .*/none/image\.tar: No such file or directory"):
        image_archive.write(tmp_path / "none" / "image.tar", exported.image, products)
