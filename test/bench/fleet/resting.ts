import { type LoadRequest, load } from '#test/bench/api/load.ts';
import { type BenchContext, type Figure, median, percentile, round } from '#test/bench/area.ts';
import { describeCost, type FleetScene, heaviest } from '#test/bench/fleet/scene.ts';
import { loadAverage } from '#test/bench/process-figures.ts';
import { demoInstance } from '#test/support/enrol.ts';
import { createOperator } from '#test/support/operator.ts';
import { bmcCredential } from '#test/support/simulated-site.ts';

const connections = 16;
const heartbeatConnections = 128;
const heartbeatSeconds = 20;
const stillMs = 4000;
const certificate = `-----BEGIN CERTIFICATE-----\n${'MIIDazCCAlOgAwIBAgIUHk5rB0mS\n'.repeat(40)}-----END CERTIFICATE-----\n`;

/** Enrolled over Redfish, and at rest: reading power, looking at all, and heartbeats of machines that wait. */
export async function measureResting(
  context: BenchContext,
  scene: FleetScene,
  deadEvery: number,
): Promise<Record<string, Figure>> {
  return {
    ...(await enrol(context, scene)),
    ...(await measurePowerSync(context, scene, 'power_sync')),
    conductor_idle_mb: { value: await scene.conductorMegabytes('VmRSS'), unit: 'MB' },
    ...(await measureLists(context, scene)),
    ...(await measureDeadBmcs(context, scene, deadEvery)),
    ...(await measureHeartbeats(context, scene)),
  };
}

async function enrol({ say }: BenchContext, scene: FleetScene): Promise<Record<string, Figure>> {
  const { machines, database } = scene;
  const count = machines.all.length;
  const bodies = machines.all.map(({ name, address }) => ({
    name,
    driver: 'redfish',
    driver_info: {
      redfish_address: address,
      redfish_username: bmcCredential.account.username,
      redfish_password: bmcCredential.account.password,
    },
    properties: { capabilities: 'boot_mode:bios' },
    network_interface: 'noop',
    instance_info: demoInstance,
  }));
  const nodes = await scene.spent(() =>
    askAll(
      scene,
      bodies.map((body) => post('/v1/nodes', body)),
    ),
  );
  say(`create a node: ${describeCost(nodes.cost, count)}; load ${await loadAverage()}`);
  const { rows } = await database.query<{ uuid: string; name: string }>('select uuid, name from nodes');
  const uuids = new Map(rows.map(({ name, uuid }) => [name, uuid]));
  await askAll(
    scene,
    machines.all.map(({ name, mac }) => post('/v1/ports', { node_uuid: uuids.get(name), address: mac })),
  );
  const managed = await scene.spent(async () => {
    const verb = (name: string): LoadRequest => ({
      method: 'PUT',
      path: `/v1/nodes/${name}/states/provision`,
      body: JSON.stringify({ target: 'manage' }),
    });
    await askAll(
      scene,
      machines.all.map(({ name }) => verb(name)),
    );
    await scene.until(
      'all to be manageable',
      `select count(*) = ${count} from nodes where provision_state = 'manageable'`,
    );
  });
  say(`manage a node: ${describeCost(managed.cost, count)}; load ${await loadAverage()}`);
  return {
    create_statements: { value: round(nodes.cost.statements / count), unit: 'statements a node' },
    manage_statements: { value: round(managed.cost.statements / count), unit: 'statements a node' },
    manage_s: { value: round(managed.cost.wall), unit: 's' },
  };
}

/** One round: from its first request until each BMC that lives has been asked. */
async function measurePowerSync(
  { say }: BenchContext,
  scene: FleetScene,
  name: string,
): Promise<Record<string, Figure>> {
  const { machines, database } = scene;
  await quiet(machines);
  const living = await machines.mark();
  const asked = async (count: number): Promise<void> => {
    while ((await machines.asked()) < count) await pause(100);
  };
  await asked(1);
  await database.query('select pg_stat_statements_reset()');
  const { cost } = await scene.spent(() => asked(living));
  say(`${name}: ${describeCost(cost, living)}; load ${await loadAverage()}`);
  for (const line of await heaviest(database, 5)) say(`  ${line}`);
  return {
    [`${name}_s`]: { value: round(cost.wall), unit: 's' },
    [`${name}_cores`]: { value: round(cost.conductors / cost.wall, 2), unit: 'cores, all conductors' },
    [`${name}_statements`]: { value: round(cost.statements / living, 2), unit: 'statements a node' },
  };
}

/** Between two rounds. */
async function quiet(machines: FleetScene['machines']): Promise<void> {
  do {
    await machines.mark();
    await pause(stillMs);
  } while ((await machines.asked()) > 0);
}

async function measureDeadBmcs(
  context: BenchContext,
  scene: FleetScene,
  deadEvery: number,
): Promise<Record<string, Figure>> {
  await quiet(scene.machines);
  const dead = await scene.machines.killEvery(deadEvery);
  if (dead === 0) return {};
  context.say(`${dead} BMCs are dead`);
  return measurePowerSync(context, scene, 'power_sync_dead');
}

async function measureLists({ say }: BenchContext, scene: FleetScene): Promise<Record<string, Figure>> {
  const [conductor] = scene.conductors;
  if (!conductor) return {};
  const operator = createOperator(conductor.url);
  const figures: Record<string, Figure> = {};
  for (const [name, path] of [
    ['list_ms_p50', '/v1/nodes'],
    ['detail_ms_p50', '/v1/nodes/detail'],
  ] as const) {
    const times: number[] = [];
    for (let round_ = 0; times.length < 30; round_ += 1) {
      let next: string | undefined = `${path}?limit=1000`;
      while (next !== undefined) {
        const startedAt = performance.now();
        const page: Record<string, unknown> = await operator.call('GET', next);
        // the first reading warms up
        if (round_ > 0) times.push(performance.now() - startedAt);
        next = typeof page['next'] === 'string' ? page['next'].slice(new URL(page['next']).origin.length) : undefined;
      }
    }
    figures[name] = { value: round(median(times)), unit: 'ms' };
    say(`${name}: ${round(median(times))} ms, p99 ${round(percentile(times, 0.99))} ms; load ${await loadAverage()}`);
  }
  return figures;
}

/** Machines whose inspections are held: the figure is that of storing heartbeats. */
async function measureHeartbeats({ say }: BenchContext, scene: FleetScene): Promise<Record<string, Figure>> {
  const { database, machines, conductors } = scene;
  await database.query("update nodes set provision_state = 'clean wait', maintenance = true");
  const bodies = await Promise.all(
    shares(machines.all, connections).map(async (share) => {
      const operator = createOperator(conductors[0]?.url ?? '');
      const made: LoadRequest[] = [];
      for (const [index, { name, mac }] of share.entries()) {
        const { config } = await operator.call('GET', `/v1/lookup?addresses=${mac}`);
        const { agent_token: token } = config as { readonly agent_token: string };
        made.push(
          post(`/v1/heartbeat/${name}`, {
            callback_url: `https://10.${1 + (index % 200)}.0.${1 + (index % 250)}:9999`,
            agent_version: '11.3.0',
            agent_token: token,
            agent_verify_ca: certificate,
            agent_status: null,
            agent_status_message: null,
          }),
        );
      }
      return made;
    }),
  );
  await database.query(
    `insert into flows (uuid, node_uuid, kind, state, next_check_at)
       select gen_random_uuid(), uuid, 'clean', 'waiting', now() + interval '1 day' from nodes`,
  );
  const beats = bodies.flat();
  const beat = async (seconds: number): Promise<readonly number[]> => {
    const endsAt = performance.now() + seconds * 1000;
    const results = await Promise.all(
      conductors.map(({ url }, place) =>
        load({
          url,
          connections: heartbeatConnections / conductors.length,
          next: (index) =>
            performance.now() < endsAt ? beats[(index * conductors.length + place) % beats.length] : undefined,
        }),
      ),
    );
    return results.flatMap(({ latenciesMs }) => latenciesMs);
  };
  await beat(3);
  await database.query('select pg_stat_statements_reset()');
  const { result: times, cost } = await scene.spent(() => beat(heartbeatSeconds));
  say(`take a heartbeat: ${describeCost(cost, times.length)}; load ${await loadAverage()}`);
  for (const line of await heaviest(database, 5)) say(`  ${line}`);
  return {
    heartbeats_per_s: { value: round(times.length / cost.wall, 0), unit: '1/s' },
    heartbeats_ms_p99: { value: round(percentile(times, 0.99)), unit: 'ms' },
    heartbeats_per_statement: { value: round(times.length / cost.statements, 2), unit: 'heartbeats' },
  };
}

function post(path: string, body: unknown): LoadRequest {
  return { method: 'POST', path, body: JSON.stringify(body) };
}

/** Shared out to all conductors. */
async function askAll({ conductors }: FleetScene, requests: readonly LoadRequest[]): Promise<void> {
  const parts = shares(requests, conductors.length);
  await Promise.all(
    conductors.map(({ url }, place) => load({ url, connections, next: (index) => parts[place]?.[index] })),
  );
}

function shares<T>(all: readonly T[], count: number): T[][] {
  return Array.from({ length: count }, (_, place) => all.filter((_each, index) => index % count === place));
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
