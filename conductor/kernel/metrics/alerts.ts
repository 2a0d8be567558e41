/** Alerts worth a night's sleep: `docs/monitoring/baton.rules.yml` is made from them, and a test knows every metric in them. */
export const alerts: readonly {
  readonly name: string;
  readonly expr: string;
  readonly for: string;
  readonly why: string;
}[] = [
  {
    name: 'BatonNodesStuck',
    expr: 'max by (provision_state) (baton_nodes_lingering{over_seconds="3600", provision_state!~".* hold|rescue.*"}) > 0',
    for: '5m',
    why: 'Nodes have been in one working state for an hour; their flow says why and what to do. Raise the threshold for `clean wait` where erasing disks takes longer.',
  },
  {
    name: 'BatonConductorGone',
    expr: 'max(baton_conductors_alive) < max(baton_conductors_known) or up{job="baton"} == 0',
    for: '3m',
    why: 'A conductor died. The others have taken over its nodes, unless it was the last of its group.',
  },
  {
    name: 'BatonDatabaseDown',
    expr: 'min(baton_database_up) == 0',
    for: '2m',
    why: 'A conductor does not reach the database: nothing is begun or recorded. `GET /readyz` says what its server answers.',
  },
  {
    name: 'BatonBmcErrors',
    expr: 'sum by (driver) (rate(baton_bmc_errors_total[15m])) / sum by (driver) (rate(baton_bmc_call_duration_seconds_count[15m])) > 0.1',
    for: '15m',
    why: 'Every tenth call to BMCs of this driver fails: the network, or a changed password. A single machine shows as `baton_nodes_with_fault`.',
  },
  {
    name: 'BatonSwitchPortsDiffer',
    expr: 'max(baton_switch_ports_differing) > 0',
    for: '0m',
    why: 'Somebody else has changed switch ports of nodes, or a switch has restarted without its saved configuration: machines may be on networks that are not theirs. `baton network NODE` shows what differs, `baton network repair NODE` sets it again.',
  },
  {
    name: 'BatonWebhooksFailing',
    expr: 'max by (webhook) (baton_webhook_oldest_pending_seconds) > 900 or increase(baton_webhook_deliveries_total{outcome="given_up"}[1h]) > 0',
    for: '5m',
    why: 'A webhook does not accept its events: `baton webhook deliveries` shows the last error.',
  },
  {
    name: 'BatonCleaningFails',
    expr: 'max(sum by (instance) (baton_nodes{provision_state="clean failed"})) > 2 or sum(increase(baton_flow_duration_seconds_count{kind="clean", state="failed"}[1h])) > 2',
    for: '0m',
    why: 'Machines do not become available again; several at once mean a bad ramdisk or provisioning network.',
  },
];
