# The first cell of a portable notebook: tools/make_portable.py appends a call that holds the library.
def put_library_in_place(wheel: str, sha256: str, payload: str) -> str:
    """Unpack the wheel, given in base64, where this kernel alone finds it; return what to tell the reader.

    Nothing is installed, so whatever the notebook's Python has stays as it is. The folder goes with the kernel.
    """
    import atexit
    import base64
    import hashlib
    import importlib.metadata
    import io
    import shutil
    import sys
    import tempfile
    import zipfile
    from pathlib import Path

    class Stop(Exception):
        """Stops Run All with one line in place of a traceback."""

        def _render_traceback_(self) -> list[str]:
            return [str(self)]

    name, version = wheel.split("-")[:2]
    mark = f"{name}-{version}-{sha256[:12]}-"

    loaded = sys.modules.get(name)
    if loaded and not Path(next(iter(loaded.__path__))).parent.name.startswith(mark):
        raise Stop(f"Another {name} is already imported: restart the kernel, then run this cell first.")
    if any(Path(entry).name.startswith(mark) and Path(entry, name).is_dir() for entry in sys.path):
        return f"{name} {version} is ready already."

    try:
        content = base64.b64decode(payload)
    except ValueError:
        content = b""
    if hashlib.sha256(content).hexdigest() != sha256:
        raise Stop(f"The {name} in this notebook is damaged: fetch the file again.")
    try:
        folder = tempfile.mkdtemp(prefix=mark)
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        zipfile.ZipFile(io.BytesIO(content)).extractall(folder)
    except OSError as error:
        message = f"{name} finds no folder to unpack into ({error}): name one in TMPDIR and restart the kernel."
        raise Stop(message) from None

    try:
        instead = f"; this kernel uses it instead of the installed {importlib.metadata.version(name)}"
    except importlib.metadata.PackageNotFoundError:
        instead = ""
    sys.path.insert(0, folder)
    return f"{name} {version} is ready{instead}."
