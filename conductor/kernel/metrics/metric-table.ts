/** THE table of Baton's metrics: `docs/reference/metrics.md` and the registry are made from it. */

interface Definition<Kind extends string, Label extends string> {
  readonly kind: Kind;
  readonly name: string;
  readonly help: string;
  readonly labels: readonly Label[];
}

interface HistogramDefinition<Label extends string> extends Definition<'histogram', Label> {
  /** Upper bounds, seconds. */
  readonly buckets: readonly number[];
}

const define =
  <Kind extends string>(kind: Kind) =>
  <Label extends string = never>(
    name: string,
    help: string,
    labels: readonly Label[] = [],
  ): Definition<Kind, Label> => ({
    kind,
    name,
    help,
    labels,
  });
const counter = define('counter');
/** A gauge of this process. */
const gauge = define('gauge');
/** Read from the database at each scrape: every conductor on one database reports the same, so take `max`, never `sum`. */
const fleet = define('fleet');
const histogram = <Label extends string>(
  name: string,
  help: string,
  labels: readonly Label[],
  buckets: readonly number[],
): HistogramDefinition<Label> => ({ kind: 'histogram', name, help, labels, buckets });

const fast = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10] as const;
const calls = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120] as const;
const work = [0.1, 1, 5, 15, 60, 300, 900, 3600, 14_400, 43_200] as const;

export const metricTable = {
  nodes: fleet('baton_nodes', 'Nodes by provision state, maintenance and conductor group.', [
    'provision_state',
    'maintenance',
    'conductor_group',
  ]),
  nodeFaults: fleet('baton_nodes_with_fault', 'Nodes that a conductor took out of service, by its reason.', ['fault']),
  nodeStateSecondsMax: fleet(
    'baton_node_state_seconds_max',
    'Longest time of a node, at work or waiting and not in maintenance, in its state.',
    ['provision_state'],
  ),
  nodesLingering: fleet('baton_nodes_lingering', 'Such nodes that are longer than so many seconds in their state.', [
    'provision_state',
    'over_seconds',
  ]),
  flowsOpen: fleet('baton_flows_open', 'Open flows; held: by maintenance or an operator.', ['kind', 'state', 'held']),
  flowAgeSecondsMax: fleet('baton_flow_age_seconds_max', 'Age of the oldest open flow.', ['kind']),
  switchPortsDiffering: fleet(
    'baton_switch_ports_differing',
    'Switch ports that are otherwise than Baton has set them.',
  ),
  siteActions: fleet('baton_site_actions', 'Site actions by name and state.', ['action', 'state']),
  siteActionGroups: fleet('baton_site_action_groups', 'Groups of the site action under way by stage.', ['stage']),
  siteActionNodes: fleet('baton_site_action_nodes', 'Nodes of the site action under way by status and phase.', [
    'status',
    'phase',
  ]),
  attestationVerdicts: fleet(
    'baton_attestation_verdicts',
    'Nodes whose TPM is known, by the verdict on its newest boot.',
    ['verdict'],
  ),
  allocations: fleet('baton_allocations', 'Allocations by state.', ['state']),
  conductorsAlive: fleet('baton_conductors_alive', 'Living conductors on this database.'),
  conductorsKnown: fleet('baton_conductors_known', 'Conductors heard of within a day that have not shut down.'),
  webhooksPending: fleet('baton_webhook_deliveries_pending', 'Events that wait to be delivered.', ['webhook']),
  webhookOldestSeconds: fleet(
    'baton_webhook_oldest_pending_seconds',
    'Age of the oldest event that waits to be delivered.',
    ['webhook'],
  ),
  scrapeSeconds: gauge('baton_scrape_query_seconds', 'Time of the database for this scrape.'),
  tlsNotAfter: gauge(
    'baton_tls_not_after_timestamp_seconds',
    "End of the API's certificate, or of the first in its chain to end, as seconds since 1970; 0 without TLS, NaN where it is not known.",
  ),
  peerTlsNotAfter: gauge(
    'baton_peer_tls_not_after_timestamp_seconds',
    'End of the first certificate to end of those that this conductor has seen and checked of BMCs, switches, image servers and others, as seconds since 1970; 0 = one has expired.',
    ['peer'],
  ),
  databaseUp: gauge('baton_database_up', '1 when the database answered this scrape, else 0.'),
  flowSeconds: histogram(
    'baton_flow_duration_seconds',
    'Flows that this conductor ended, from request to end.',
    ['kind', 'state'],
    work,
  ),
  stepSeconds: histogram(
    'baton_step_duration_seconds',
    'Steps that this conductor saw end, waits included.',
    ['kind', 'step', 'outcome'],
    work,
  ),
  hopSeconds: histogram(
    'baton_hop_duration_seconds',
    "From the agent's heartbeat after a command to the start of its next step.",
    [],
    fast,
  ),
  siteBeatSeconds: histogram(
    'baton_site_beat_duration_seconds',
    'Looks of this conductor at the nodes that a site action has at work.',
    [],
    fast,
  ),
  heartbeats: counter('baton_agent_heartbeats_total', 'Heartbeats of agents.', ['outcome']),
  bmcSeconds: histogram(
    'baton_bmc_call_duration_seconds',
    'Calls to BMCs, confirmation included.',
    ['driver', 'call', 'outcome'],
    calls,
  ),
  bmcErrors: counter('baton_bmc_errors_total', 'Calls to BMCs that failed, by the code of the error.', [
    'driver',
    'call',
    'code',
  ]),
  sensorReadings: gauge('baton_sensor_reading', "Nodes' sensors, where BATON_HARDWARE_INTERVAL has BMCs asked.", [
    'node',
    'sensor',
    'kind',
    'unit',
  ]),
  sensorHealth: gauge('baton_sensor_health', 'What their BMCs say of them: 0 ok, 1 warning, 2 critical.', [
    'node',
    'sensor',
  ]),
  leasesHeld: gauge('baton_leases_held', 'Nodes that this conductor works on now.'),
  leasesTakenOver: counter('baton_lease_takeovers_total', 'Expired leases that this conductor took over.'),
  leasesLost: counter('baton_leases_lost_total', 'Leases that this conductor lost while it worked.'),
  databaseFaults: counter(
    'baton_database_faults_total',
    'Requests and tasks that the database failed, by SQLSTATE class.',
    ['class'],
  ),
  httpSeconds: histogram(
    'baton_http_request_duration_seconds',
    'Requests by path pattern; `none`: no such path.',
    ['method', 'route', 'status'],
    fast,
  ),
  connectionsCut: counter(
    'baton_http_connections_cut_total',
    'Connections closed because they ran short: idle ones of an address with most or too many, and new ones.',
    ['kind'],
  ),
  imageBytes: counter(
    'baton_image_bytes_total',
    'Bytes of images in chunks: kept in place, copied on the disk, fetched from the server or neighbours (compressed).',
    ['origin'],
  ),
  webhookDeliveries: counter('baton_webhook_deliveries_total', 'Tries to deliver an event.', ['outcome']),
  taskSeconds: histogram(
    'baton_background_task_duration_seconds',
    'Runs of background tasks.',
    ['task', 'outcome'],
    calls,
  ),
  taskSucceededAt: gauge(
    'baton_background_task_last_success_timestamp_seconds',
    'When the background task last succeeded.',
    ['task'],
  ),
} as const;

export type MetricName = keyof typeof metricTable;

/** Figures of the whole database. */
export type FleetMetric = {
  [Name in MetricName]: (typeof metricTable)[Name]['kind'] extends 'fleet' ? Name : never;
}[MetricName];

export const fleetMetrics = (Object.keys(metricTable) as MetricName[]).filter(
  (name): name is FleetMetric => metricTable[name].kind === 'fleet',
);
