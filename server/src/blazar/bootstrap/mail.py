"""Mail to the users of leases, as the configuration says."""

from __future__ import annotations

from collections.abc import Sequence

from oslo_config import cfg

from blazar.adapters.mail import MailSettings, SmtpSender, templates
from blazar.domain.subscription import LeaseEvent
from blazar.engine.mailing import CALL_SECONDS, Mailing
from blazar.service.mail_texts import MailTexts
from blazar.service.mails import MailPlan
from blazar.service.metrics import Metrics
from blazar.service.ports import Clock, Cloud, Database


def mail_plan(conf: cfg.ConfigOpts) -> MailPlan:
    events = frozenset(LeaseEvent(each) for each in conf.mail.events)
    return MailPlan(bool(conf.mail.host), events, conf.mail.daily_hour)


def build_mailing(
    conf: cfg.ConfigOpts, database: Database, cloud: Cloud, clock: Clock, metrics: Metrics
) -> Sequence[Mailing]:
    """Return nothing where no mail is sent. Raises ValueError where it cannot be written."""
    if not conf.mail.host:
        return ()
    sender, texts = mail_sender(conf), mail_texts(conf)
    ask = cloud.for_request(lambda: CALL_SECONDS).identity.email
    return (Mailing(database, sender, texts, ask, clock, mail_plan(conf), metrics),)


def require_mail(conf: cfg.ConfigOpts) -> None:
    """Raise ValueError where mail is to be sent and cannot be written."""
    if conf.mail.host:
        mail_sender(conf)
        mail_texts(conf)


def mail_sender(conf: cfg.ConfigOpts) -> SmtpSender:
    own = conf.mail
    settings = MailSettings(
        own.host,
        own.port,
        own.sender or "",
        own.encryption,
        own.username,
        own.password,
        own.timeout,
        own.cafile,
        choice_url(conf),
    )
    return SmtpSender(settings)


def mail_texts(conf: cfg.ConfigOpts) -> MailTexts:
    return MailTexts(templates(conf.mail.templates), conf.mail.dashboard_url, choice_url(conf))


def choice_url(conf: cfg.ConfigOpts) -> str:
    """Return where users choose what they are told: on the calendar page, unless the operator says
    otherwise."""
    dashboard = str(conf.mail.dashboard_url).rstrip("/")
    return str(conf.mail.choice_url) or (f"{dashboard}/#/mail" if dashboard else "")
