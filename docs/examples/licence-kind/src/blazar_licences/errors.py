"""What can go wrong with licences. The base class decides the HTTP status."""

from __future__ import annotations

from blazar.domain.errors import Conflict, NotFound


class LicenceNotFound(NotFound):
    code = "licence_not_found"
    template = "Licence {licence} not found."


class LicenceAlreadyRegistered(Conflict):
    code = "licence_already_registered"
    template = "Licence {name} is already registered."


class CantDeleteLicence(Conflict):
    code = "cant_delete_licence"
    template = "Can't delete licence {licence}: it is reserved."
