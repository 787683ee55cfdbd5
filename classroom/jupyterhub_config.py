"""A JupyterHub on one machine, to try a class before it meets; CLASSROOM.md says how to start it.

Not for a class itself: all users run under your own account and can read each other's files, and whoever knows the
password can log in under any name.
"""

import os

c = get_config()  # noqa: F821

c.JupyterHub.bind_url = "http://127.0.0.1:8000"  # this machine alone

# Nobody needs an account: any name logs in with this password, of at least 8 characters.
c.JupyterHub.authenticator_class = "shared-password"
c.SharedPasswordAuthenticator.user_password = os.environ["CLASS_PASSWORD"]
c.Authenticator.allow_all = True

# One server a user, each in a home of its own under the folder where the hub was started.
c.JupyterHub.spawner_class = "simple"
c.SimpleLocalProcessSpawner.home_dir_template = os.path.abspath("homes/{username}")

# A container often runs everything as root, and JupyterLab refuses that unless told.
if os.getuid() == 0:
    c.Spawner.args = ["--allow-root"]
