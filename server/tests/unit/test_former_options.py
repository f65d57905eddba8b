"""Is each option of version 18 accepted under its name, or is the operator told what to do instead?"""

from __future__ import annotations

from pathlib import Path

import pytest
from keystoneauth1 import loading
from oslo_config import cfg

from blazar import conf as options
from blazar.adapters.enforcement import ExternalServiceFilter, MaxLeaseDurationFilter
from blazar.conf import former

TABLE = """
DEFAULT        host                                    192.0.2.1
DEFAULT        port                                    4321
DEFAULT        log_exchange                            True         gone
DEFAULT        os_auth_protocol                        https        [cloud] auth_url https://127.0.0.1:5000/v3
DEFAULT        os_auth_host                            ::1          [cloud] auth_url http://[::1]:5000/v3
DEFAULT        os_auth_port                            35357        [cloud] auth_url http://127.0.0.1:35357/v3
DEFAULT        os_auth_prefix                          /identity/   [cloud] auth_url http://127.0.0.1:5000/identity/v3
DEFAULT        os_auth_version                         v3.0         [cloud] auth_url http://127.0.0.1:5000/v3.0
DEFAULT        os_admin_username                       blazar       [cloud] username
DEFAULT        os_admin_password                       secret       [cloud] password
DEFAULT        os_admin_project_name                   service      [cloud] project_name
DEFAULT        os_admin_user_domain_name               users        [cloud] user_domain_name
DEFAULT        os_admin_project_domain_name            projects     [cloud] project_domain_name
DEFAULT        cafile                                  /etc/ca.pem  [cloud] cafile
DEFAULT        enable_v1_api                           True         gone
DEFAULT        cleaning_time                           5
DEFAULT        identity_service                        identity     gone
DEFAULT        os_region_name                          north        [cloud] region_name
DEFAULT        endpoint_type                           public       [cloud] interface
DEFAULT        keystone_client_version                 3            gone
DEFAULT        auth_strategy                           keystone     gone
DEFAULT        db_driver                               blazar.db    gone
api            api_v2_controllers                      oshosts      gone
manager        rpc_topic                               other
manager        plugins                                 virtual.instance.plugin
manager        minutes_before_end_lease                30
manager        event_max_retries                       3            gone
enforcement    enabled_filters                         MaxLeaseDurationFilter
enforcement    max_lease_duration                      86400
enforcement    max_lease_duration_exempt_project_ids   p1
enforcement    external_service_base_endpoint          http://a/
enforcement    external_service_check_create_endpoint  http://a/c
enforcement    external_service_check_update_endpoint  http://a/u
enforcement    external_service_on_end_endpoint        http://a/e
enforcement    external_service_token                  secret
notifications  publisher_id                            other
nova           endpoint_type                           public       [cloud] interface
nova           nova_client_version                     2            gone
nova           compute_service                         compute      gone
nova           image_prefix                            kept_
nova           aggregate_freepool_name                 pool
nova           project_id_key                          a            gone
nova           blazar_owner                            owner
nova           az_aware                                True         gone
neutron        endpoint_type                           public       [cloud] interface
placement      endpoint_type                           public       [cloud] interface
physical:host  blazar_az_prefix                        az_
physical:host  before_end                              snapshot
physical:host  enable_notification_monitor             True
physical:host  notification_topics                     a,b
physical:host  enable_polling_monitor                  True
physical:host  polling_interval                        30
physical:host  healing_interval                        30
physical:host  randomize_host_selection                True
physical:host  aggregate_freepool_name                 pool         [nova] aggregate_freepool_name
physical:host  project_id_key                          a            gone
physical:host  blazar_owner                            owner        [nova] blazar_owner
DEFAULT        nova_client_version                     2            gone
DEFAULT        compute_service                         compute      gone
DEFAULT        image_prefix                            kept_        [nova] image_prefix
"""
"""Group, option, a value of it, and what becomes of it where it is not what it was: its present place, with
its value where that is another one; ``gone``, which the operator is told."""
ROWS = [line.split() for line in TABLE.splitlines() if line]


def loaded(tmp_path: Path, group: str, name: str, value: str) -> cfg.ConfigOpts:
    path = tmp_path / "blazar.conf"
    path.write_text(f"[{group}]\n{name} = {value}\n")
    conf = options.load(files=[str(path)])
    for each in (ExternalServiceFilter, MaxLeaseDurationFilter):
        conf.register_opts(each.options, "enforcement")
    return conf


def text(value: object) -> str:
    return ",".join(value) if isinstance(value, list) else str(value)


@pytest.mark.slow
@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]}.{row[1]}")
def test_what_becomes_of_an_option(row: list[str], tmp_path: Path) -> None:
    group, name, value, *fate = row
    conf = loaded(tmp_path, group, name, value)
    options.require_good_values(conf)
    told = [each for each in former.removed(conf) if (each.group, each.name) == (group, name)]
    assert bool(told) is (fate == ["gone"])
    known = {(each_group, option.dest) for each_group, found in options.list_opts() for option in found}
    match fate:
        case ["gone"]:
            assert str(told[0]).startswith(f"[{group}] {name} is not read any more: ")
            assert (group, name) not in known
        case []:
            assert text((conf if group == "DEFAULT" else conf[group])[name]) == value
        case [place, present, *other]:
            former.adopt(conf)
            found = conf[place.strip("[]")][present]
            assert text(found) == (other[0] if other else value)


def test_the_former_credentials_sign_in(tmp_path: Path) -> None:
    path = tmp_path / "blazar.conf"
    path.write_text("[DEFAULT]\nos_auth_host = keystone\nos_admin_password = secret\n")
    conf = options.load(files=[str(path)])
    former.adopt(conf)
    auth = loading.load_auth_from_conf_options(conf, "cloud")
    assert auth.auth_url == "http://keystone:5000/v3"
    assert (auth._username, auth._password, auth._project_name) == ("admin", "secret", "admin")
    assert (auth._user_domain_name, auth._project_domain_name) == ("Default", "Default")


@pytest.mark.parametrize("auth_type", ["password", "v3applicationcredential"])
def test_what_is_given_in_its_present_place_counts(auth_type: str, tmp_path: Path) -> None:
    path = tmp_path / "blazar.conf"
    path.write_text(
        "[DEFAULT]\nos_auth_host = old\nos_admin_password = old\nos_admin_username = old\n"
        f"[cloud]\nauth_type = {auth_type}\nauth_url = http://new/v3\nusername = new\npassword = new\n"
        "user_domain_id = default\napplication_credential_id = a\napplication_credential_secret = b\n"
    )
    conf = options.load(files=[str(path)])
    former.adopt(conf)
    auth = loading.load_auth_from_conf_options(conf, "cloud")
    assert auth.auth_url == "http://new/v3"
    if auth_type == "password":
        assert (auth._username, auth._password, auth._user_domain_name) == ("new", "new", None)


def test_nothing_is_adopted_where_nothing_is_given() -> None:
    conf = options.load(files=())
    former.adopt(conf)
    assert conf.cloud.auth_type is None
