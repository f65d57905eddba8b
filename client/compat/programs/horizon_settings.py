"""Horizon's settings for a run without a web server, with the plugin enabled and all data in memory."""

from __future__ import annotations

import os
import tempfile

import blazar_dashboard.enabled
import openstack_dashboard.local.enabled

openstack_dashboard.local.enabled.__path__.extend(blazar_dashboard.enabled.__path__)

from openstack_dashboard.settings import *  # noqa: E402, F403 (Horizon's way)

SECRET_KEY = "only for this run"
DEBUG = True
ALLOWED_HOSTS = ["*"]
OPENSTACK_KEYSTONE_URL = os.environ["KEYSTONE_URL"]
SESSION_ENGINE = "django.contrib.sessions.backends.cache"
CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
COMPRESS_ENABLED = False
COMPRESS_OFFLINE = False
STATICFILES_STORAGE = "django.contrib.staticfiles.storage.StaticFilesStorage"
STATIC_ROOT = tempfile.mkdtemp()
