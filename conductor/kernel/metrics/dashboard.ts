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
    name: 'BatonSensorCritical',
    expr: 'max by (node, sensor) (baton_sensor_health) > 1',
    for: '10m',
    why: "A BMC calls a sensor of its machine critical: `baton sensors NODE`, and the node's history has its event log (with `BATON_HARDWARE_INTERVAL`).",
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

/** A panel of Grafana. */
interface Panel {
  readonly title: string;
  /** PromQL. */
  readonly expr: string;
  /** Legend of each line, from labels; absent = one line. */
  readonly legend?: string;
  readonly unit?: 's' | 'ops' | 'percentunit' | 'bytes';
  readonly kind?: 'stat' | 'timeseries';
  readonly stacked?: true;
}

const quantile = (metric: string, by: string, share = 0.95): string =>
  `histogram_quantile(${share}, sum by (le${by === '' ? '' : `, ${by}`}) (rate(${metric}_bucket[$__rate_interval])))`;

/** Figures of the whole database are the same on each conductor: `max`. Those of each conductor add up: `sum`. */
const panels: readonly Panel[] = [
  { title: 'Nodes', expr: 'max(sum by (instance) (baton_nodes))', kind: 'stat' },
  { title: 'Active', expr: 'max(sum by (instance) (baton_nodes{provision_state="active"}))', kind: 'stat' },
  { title: 'Failed', expr: 'max(sum by (instance) (baton_nodes{provision_state=~".*failed|error"}))', kind: 'stat' },
  { title: 'With a fault', expr: 'max(sum by (instance) (baton_nodes_with_fault))', kind: 'stat' },
  { title: 'Open flows', expr: 'max(sum by (instance) (baton_flows_open))', kind: 'stat' },
  { title: 'Conductors alive', expr: 'max(baton_conductors_alive)', kind: 'stat' },
  {
    title: 'Nodes by provision state',
    expr: 'max by (provision_state) (sum by (instance, provision_state) (baton_nodes))',
    legend: '{{provision_state}}',
    stacked: true,
  },
  {
    title: 'Longest in a working state',
    expr: 'max by (provision_state) (baton_node_state_seconds_max)',
    legend: '{{provision_state}}',
    unit: 's',
  },
  {
    title: 'Flows that ended, per hour',
    expr: 'sum by (kind, state) (increase(baton_flow_duration_seconds_count[1h]))',
    legend: '{{kind}} {{state}}',
  },
  {
    title: 'Duration of flows (p95)',
    expr: quantile('baton_flow_duration_seconds', 'kind'),
    legend: '{{kind}}',
    unit: 's',
  },
  {
    title: 'Duration of steps (p95)',
    expr: `topk(12, ${quantile('baton_step_duration_seconds', 'step')})`,
    legend: '{{step}}',
    unit: 's',
  },
  { title: 'Between two steps (p95)', expr: quantile('baton_hop_duration_seconds', ''), unit: 's' },
  {
    title: 'Nodes of the site action under way',
    expr: 'max by (status) (sum by (instance, status) (baton_site_action_nodes))',
    legend: '{{status}}',
    stacked: true,
  },
  {
    title: 'BMC calls that fail',
    expr: 'sum by (driver) (rate(baton_bmc_errors_total[$__rate_interval])) / sum by (driver) (rate(baton_bmc_call_duration_seconds_count[$__rate_interval]))',
    legend: '{{driver}}',
    unit: 'percentunit',
  },
  {
    title: 'BMC calls (p95)',
    expr: quantile('baton_bmc_call_duration_seconds', 'driver, call'),
    legend: '{{driver}} {{call}}',
    unit: 's',
  },
  {
    title: 'Heartbeats of agents',
    expr: 'sum by (outcome) (rate(baton_agent_heartbeats_total[$__rate_interval]))',
    legend: '{{outcome}}',
    unit: 'ops',
  },
  {
    title: 'API requests',
    expr: 'sum by (status) (rate(baton_http_request_duration_seconds_count[$__rate_interval]))',
    legend: '{{status}}',
    unit: 'ops',
  },
  {
    title: 'API requests (p95)',
    expr: `topk(12, ${quantile('baton_http_request_duration_seconds', 'route')})`,
    legend: '{{route}}',
    unit: 's',
  },
  {
    title: 'Oldest event that a webhook waits for',
    expr: 'max by (webhook) (baton_webhook_oldest_pending_seconds)',
    legend: '{{webhook}}',
    unit: 's',
  },
  {
    title: 'Database faults',
    expr: 'sum by (class) (rate(baton_database_faults_total[$__rate_interval]))',
    legend: '{{class}}',
    unit: 'ops',
  },
  { title: 'Memory', expr: 'process_resident_memory_bytes{job="baton"}', legend: '{{instance}}', unit: 'bytes' },
  {
    title: 'CPU',
    expr: 'rate(process_cpu_seconds_total{job="baton"}[$__rate_interval])',
    legend: '{{instance}}',
    unit: 'percentunit',
  },
];

const gridColumns = 24;
const sizes = { stat: { w: 4, h: 4 }, timeseries: { w: 8, h: 8 } } as const;
const datasource = { type: 'prometheus', uid: '$datasource' };

/** Makes `docs/monitoring/baton-dashboard.json`, as Grafana (9 or later) imports it. */
export function dashboard(): Readonly<Record<string, unknown>> {
  const at = { x: 0, y: 0, h: 0 };
  const placed = panels.map((panel, index) => {
    const size = sizes[panel.kind ?? 'timeseries'];
    if (at.x + size.w > gridColumns || (at.x > 0 && size.h !== at.h)) Object.assign(at, { x: 0, y: at.y + at.h });
    const gridPos = { x: at.x, y: at.y, ...size };
    Object.assign(at, { x: at.x + size.w, h: size.h });
    return { id: index + 1, gridPos, ...describePanel(panel) };
  });
  return {
    title: 'Baton',
    uid: 'baton',
    schemaVersion: 37,
    refresh: '30s',
    time: { from: 'now-6h', to: 'now' },
    templating: { list: [{ name: 'datasource', type: 'datasource', query: 'prometheus' }] },
    panels: placed,
  };
}

function describePanel({ title, expr, legend, unit, kind = 'timeseries', stacked }: Panel) {
  const custom = kind === 'stat' ? {} : { fillOpacity: 10, stacking: { mode: stacked ? 'normal' : 'none' } };
  return {
    title,
    type: kind,
    datasource,
    fieldConfig: { defaults: { unit: unit ?? 'none', min: 0, custom }, overrides: [] },
    targets: [{ refId: 'A', datasource, expr, legendFormat: legend ?? title }],
  };
}

/** For the test that knows every metric. */
export const dashboardQueries: readonly string[] = panels.map(({ expr }) => expr);
