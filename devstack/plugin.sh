#!/bin/bash
# A plugin of devstack. In local.conf: enable_plugin blazar <the address of this repository>

function install_blazar {
    python3 -m venv "$BLAZAR_VENV"
    "$BLAZAR_VENV/bin/pip" install --constraint "$BLAZAR_DIR/constraints.txt" "$BLAZAR_DIR/server[mysql,postgresql]"
    # The filter and the client go where nova-scheduler and the openstack command are; their libraries stay as they are.
    pip_install --no-deps "$BLAZAR_DIR/nova-filter"
    pip_install "$BLAZAR_DIR/client"
}

function configure_blazar {
    sudo install -d -o "$STACK_USER" "$BLAZAR_CONF_DIR"
    rm -f "$BLAZAR_CONF"
    touch "$BLAZAR_CONF"
    chmod 600 "$BLAZAR_CONF"
    iniset "$BLAZAR_CONF" DEFAULT host "$SERVICE_LISTEN_ADDRESS"
    iniset "$BLAZAR_CONF" DEFAULT port "$BLAZAR_SERVICE_PORT"
    iniset "$BLAZAR_CONF" DEFAULT transport_url "$(get_transport_url)"
    iniset "$BLAZAR_CONF" database connection "$(database_connection_url blazar)"
    local group
    for group in keystone_authtoken cloud; do
        iniset "$BLAZAR_CONF" $group auth_type password
        iniset "$BLAZAR_CONF" $group auth_url "$KEYSTONE_SERVICE_URI"
        iniset "$BLAZAR_CONF" $group username "$BLAZAR_USER"
        iniset "$BLAZAR_CONF" $group password "$SERVICE_PASSWORD"
        iniset "$BLAZAR_CONF" $group user_domain_name "$SERVICE_DOMAIN_NAME"
        iniset "$BLAZAR_CONF" $group project_name "$SERVICE_PROJECT_NAME"
        iniset "$BLAZAR_CONF" $group project_domain_name "$SERVICE_DOMAIN_NAME"
        iniset "$BLAZAR_CONF" $group region_name "$REGION_NAME"
        iniset "$BLAZAR_CONF" $group interface public
    done
    iniset "$BLAZAR_CONF" keystone_authtoken www_authenticate_uri "$KEYSTONE_SERVICE_URI"
    iniset "$BLAZAR_CONF" keystone_authtoken service_token_roles_required true
    iniset "$BLAZAR_CONF" manager metrics_port "$BLAZAR_METRICS_PORT"
    iniset "$BLAZAR_CONF" nova aggregate_freepool_name "$BLAZAR_FREEPOOL"
    iniset "$BLAZAR_CONF" oslo_messaging_notifications driver messagingv2
    configure_nova_for_blazar
}

function configure_nova_for_blazar {
    local filters="ComputeFilter,ComputeCapabilitiesFilter,ImagePropertiesFilter,ServerGroupAntiAffinityFilter"
    filters+=",ServerGroupAffinityFilter,AggregateMultiTenancyIsolation,AggregateInstanceExtraSpecsFilter,BlazarFilter"
    iniset_multiline "$NOVA_CONF" filter_scheduler available_filters \
        nova.scheduler.filters.all_filters blazarnova.scheduler.filters.blazar_filter.BlazarFilter
    iniset "$NOVA_CONF" filter_scheduler enabled_filters "$filters"
    iniset "$NOVA_CONF" filter_scheduler weight_classes \
        nova.scheduler.weights.all_weighers,blazarnova.scheduler.weights.reservation.ReservationWeigher
}

function init_blazar {
    recreate_database blazar utf8
    "$BLAZAR_VENV/bin/blazar-db-manage" --config-file "$BLAZAR_CONF" upgrade
}

function create_blazar_accounts {
    create_service_user "$BLAZAR_USER" admin
    get_or_create_service blazar reservation "Reservations"
    get_or_create_endpoint reservation "$REGION_NAME" "http://$BLAZAR_SERVICE_HOST:$BLAZAR_SERVICE_PORT/v1"
}

function start_blazar {
    run_process blazar-manager "$BLAZAR_VENV/bin/blazar-manager --config-file $BLAZAR_CONF"
    run_process blazar-api "$BLAZAR_VENV/bin/blazar-api --config-file $BLAZAR_CONF"
    openstack --os-cloud devstack-admin aggregate create "$BLAZAR_FREEPOOL"
}

function stop_blazar {
    stop_process blazar-api
    stop_process blazar-manager
}

if is_service_enabled blazar-api blazar-manager; then
    case "$1 $2" in
        "stack install") install_blazar ;;
        "stack post-config") configure_blazar; create_blazar_accounts; init_blazar ;;
        "stack extra") start_blazar ;;
        "unstack ") stop_blazar ;;
        "clean ") sudo rm -rf "$BLAZAR_CONF_DIR" "$BLAZAR_VENV" ;;
    esac
fi
