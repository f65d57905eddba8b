"""The repositories inside one transaction."""

from __future__ import annotations

from sqlalchemy import Connection

from blazar.adapters.db.calls import SqlCalls
from blazar.adapters.db.duties import SqlDuties
from blazar.adapters.db.events import SqlEvents
from blazar.adapters.db.feeds import SqlFeeds
from blazar.adapters.db.imports import SqlImports
from blazar.adapters.db.leases import SqlLeases
from blazar.adapters.db.mails import SqlMails
from blazar.adapters.db.maintenances import SqlMaintenances
from blazar.adapters.db.offers import SqlOffers
from blazar.adapters.db.outbox import SqlOutbox
from blazar.adapters.db.presences import SqlPresences
from blazar.adapters.db.quotas import SqlQuotas
from blazar.adapters.db.reports import SqlReports
from blazar.adapters.db.resources import SqlResources
from blazar.adapters.db.series import SqlSeries
from blazar.adapters.db.shares import SqlShares
from blazar.adapters.db.start_tasks import SqlStartTasks
from blazar.adapters.db.subscriptions import SqlSubscriptions
from blazar.adapters.db.utilizations import SqlUtilizations
from blazar.adapters.db.waitlist import SqlWaitlist


class SqlUnitOfWork:
    """All repositories on one connection, whose transaction the caller commits."""

    def __init__(self, connection: Connection) -> None:
        self.leases = SqlLeases(connection)
        self.offers = SqlOffers(connection, self.leases)
        self.maintenances = SqlMaintenances(connection, self.leases)
        self.resources = SqlResources(connection)
        self.events = SqlEvents(connection)
        self.outbox = SqlOutbox(connection)
        self.calls = SqlCalls(connection)
        self.duties = SqlDuties(connection)
        self.reports = SqlReports(connection)
        self.imports = SqlImports(connection)
        self.presences = SqlPresences(connection)
        self.quotas = SqlQuotas(connection)
        self.subscriptions = SqlSubscriptions(connection, self.quotas)
        self.series = SqlSeries(connection)
        self.shares = SqlShares(connection, self.quotas)
        self.feeds = SqlFeeds(connection, self.quotas)
        self.waitlist = SqlWaitlist(connection, self.quotas)
        self.utilizations = SqlUtilizations(connection)
        self.mails = SqlMails(connection)
        self.start_tasks = SqlStartTasks(connection)
