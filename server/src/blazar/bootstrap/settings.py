"""What the configuration says, as the settings of services and of the engine."""

from __future__ import annotations

from datetime import timedelta

from oslo_config import cfg

from blazar.adapters.webhooks import HttpSender, WebhookSettings, networks
from blazar.domain.planning.demand import Order
from blazar.domain.time import HORIZON, MINUTE
from blazar.engine.loop import EngineSettings
from blazar.service.admission import PlanningSettings
from blazar.service.feeds import FeedSettings
from blazar.service.healing import HealingSettings
from blazar.service.leases import (
    ClaimBySettings,
    DisplacementSettings,
    LateBindingSettings,
    LeaseSettings,
    WaitSettings,
)
from blazar.service.offers import OfferSettings
from blazar.service.ports.kind import Kinds
from blazar.service.promises import PromiseSettings
from blazar.service.receivers import SubscriptionSettings
from blazar.service.series import SeriesSettings
from blazar.service.start_tasks import StartTaskSettings


def planning_settings(conf: cfg.ConfigOpts) -> PlanningSettings:
    random = conf["physical:host"].randomize_host_selection
    return PlanningSettings(
        Order.RANDOM if random else Order.PACKED,
        timedelta(minutes=conf.cleaning_time),
        conf.manager.max_reservations_per_lease,
    )


def healing_settings(conf: cfg.ConfigOpts) -> HealingSettings:
    own, planning = conf["physical:host"], planning_settings(conf)
    return HealingSettings(
        interval=timedelta(minutes=own.healing_interval),
        patience=timedelta(seconds=own.down_seconds_before_moving),
        cleaning=planning.cleaning,
        order=planning.order,
    )


def promise_settings(conf: cfg.ConfigOpts) -> PromiseSettings:
    cleaning = planning_settings(conf).cleaning
    margin = max(timedelta(seconds=conf.nova.backfill_margin_seconds), cleaning)
    return PromiseSettings(timedelta(days=conf.nova.backfill_days), margin, cleaning)


def lease_settings(conf: cfg.ConfigOpts, kinds: Kinds) -> LeaseSettings:
    """Raises ValueError where a setting names no enabled kind."""
    return LeaseSettings(
        notification=timedelta(minutes=conf.manager.minutes_before_end_lease),
        delete_wait=timedelta(seconds=conf.manager.delete_wait),
        claim_by=claim_by_settings(conf, kinds),
    )


def claim_by_settings(conf: cfg.ConfigOpts, kinds: Kinds) -> ClaimBySettings:
    """Raises ValueError where an entry is not of an enabled kind, or its time not a number of minutes."""
    after = {}
    for entry in conf.claim_by.minutes:
        kind, _, minutes = entry.partition("=")
        if kind not in kinds or not (minutes.isdecimal() and 0 < int(minutes) <= HORIZON // MINUTE):
            raise ValueError(
                f"[claim_by] minutes: {entry} is not a kind of {', '.join(sorted(kinds))} with the number of "
                "its minutes, such as physical:host=120"
            )
        after[kind] = int(minutes) * MINUTE
    warning = timedelta(minutes=conf.claim_by.warning_minutes)
    return ClaimBySettings(after, frozenset(conf.claim_by.exempt_projects), warning)


def offer_settings(conf: cfg.ConfigOpts) -> OfferSettings:
    return OfferSettings(
        most=conf.manager.max_offers_per_project,
        longest=timedelta(minutes=conf.manager.max_offer_minutes),
    )


def wait_settings(conf: cfg.ConfigOpts) -> WaitSettings:
    return WaitSettings(
        most=conf.manager.max_waiting_leases_per_project,
        longest=timedelta(hours=conf.manager.max_wait_hours),
    )


def displacement_settings(conf: cfg.ConfigOpts) -> DisplacementSettings:
    own = conf.manager
    return DisplacementSettings(own.displacement, timedelta(minutes=own.displacement_notice_minutes))


def late_binding_settings(conf: cfg.ConfigOpts, kinds: Kinds) -> LateBindingSettings:
    """Raises ValueError where an entry is not of an enabled kind, or its time neither a number of minutes nor
    ``never``."""
    own, leads = conf.manager, dict[str, timedelta | None]()
    for entry in own.late_binding_leads:
        kind, _, lead = entry.partition("=")
        is_minutes = lead.isdecimal() and 0 < int(lead) <= HORIZON // MINUTE
        if kind not in kinds or not (is_minutes or lead == "never"):
            raise ValueError(
                f"[manager] late_binding_leads: {entry} is not a kind of {', '.join(sorted(kinds))} with the "
                "number of its minutes or never, such as physical:host=60"
            )
        leads[kind] = int(lead) * MINUTE if is_minutes else None
    return LateBindingSettings(own.late_binding, timedelta(minutes=own.late_binding_lead_minutes), leads)


def webhook_settings(conf: cfg.ConfigOpts) -> WebhookSettings:
    """Raises ValueError where an option names what is no network."""
    own = conf.subscriptions
    return WebhookSettings(
        networks(own.allowed_networks, "allowed_networks"),
        networks(own.forbidden_networks, "forbidden_networks"),
        own.timeout,
        own.cafile,
    )


def subscription_settings(conf: cfg.ConfigOpts) -> SubscriptionSettings:
    own = conf.subscriptions
    require_allowed = HttpSender(webhook_settings(conf)).require_allowed
    return SubscriptionSettings(own.max_per_project, own.allow_http, require_allowed)


def start_task_settings(conf: cfg.ConfigOpts) -> StartTaskSettings:
    own = conf.orchestration
    return StartTaskSettings(
        timedelta(minutes=own.minutes_before_end_lease), timedelta(hours=own.give_up_hours)
    )


def feed_settings(conf: cfg.ConfigOpts) -> FeedSettings:
    own = conf.feeds
    return FeedSettings(own.enabled, own.max_per_user, timedelta(days=own.past_days), own.max_leases)


def series_settings(conf: cfg.ConfigOpts) -> SeriesSettings:
    kept = conf.database.retention_days
    return SeriesSettings(
        conf.series.max_occurrences,
        timedelta(days=conf.series.horizon_days),
        timedelta(days=kept) if kept else None,
    )


def engine_settings(conf: cfg.ConfigOpts) -> EngineSettings:
    return EngineSettings(
        conf.manager.event_workers,
        timedelta(seconds=conf.manager.claim_seconds),
        reconcile=timedelta(seconds=conf.manager.reconcile_seconds),
    )
