"""The errors about the server of a reservation."""

from __future__ import annotations

from blazar.domain.errors import Conflict, NotFound


class ServerNotFound(NotFound):
    code = "server_not_found"
    template = "Server {server} could not be found."


class ServerNotReservable(Conflict):
    code = "server_not_reservable"
    template = "Server {server} cannot be reserved: {reason}."


class ImageNotFound(NotFound):
    code = "image_not_found"
    template = "Image {image} could not be found."


class ServerNetworkNotFound(NotFound):
    code = "server_network_not_found"
    template = "Network {network} could not be found."
