"""Settings of the Jupyter server in .venv, where tools/setup_env.py copies this file.

A widget answers a slider in several messages, the picture among them, and the server sends each as it comes. TCP holds
a small message back until the last one is acknowledged, for which a browser on the same computer takes 40 ms (Nagle's
algorithm against delayed acknowledgement, RFC 896 and RFC 1122): a dragged slider would stutter.
"""

from jupyter_server.services.kernels.connection.channels import ZMQChannelsWebsocketConnection


class PromptConnection(ZMQChannelsWebsocketConnection):
    """Between a page and a kernel of this server (not of a gateway's): each message leaves at once."""

    def connect(self):
        self.websocket_handler.set_nodelay(True)
        return super().connect()


c.ServerApp.kernel_websocket_connection_class = PromptConnection  # noqa: F821 - given by the server
