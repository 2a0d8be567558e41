import { type LoadRequest, load } from '#test/bench/api/load.ts';
import { type BenchContext, type Figure, median, percentile, round } from '#test/bench/area.ts';
import { askAll, connections, post, shares } from '#test/bench/fleet/requests.ts';
import { describeCost, type FleetScene, heaviest } from '#test/bench/fleet/scene.ts';
import { loadAverage } from '#test/bench/process-figures.ts';
import { filledNode, fillFleet } from '#test/support/fill-fleet.ts';
import { createOperator } from '#test/support/operator.ts';

const heartbeatConnections = 128;
const heartbeatSeconds = 20;
const certificate = `-----BEGIN CERTIFICATE-----\n${'MIIDazCCAlOgAwIBAgIUHk5rB0mS\n'.repeat(40)}-----END CERTIFICATE-----\n`;

/** Measures calls beside many nodes, which are rows alone: looking at all of them, and heartbeats of machines that wait. */
export async function measureCalls(
  context: BenchContext,
  scene: FleetScene,
  nodes: number,
): Promise<Record<string, Figure>> {
  await fillFleet(scene.database, { from: 0, to: nodes });
  return {
    ...(await measureLists(context, scene)),
    ...(await measureHeartbeats(
      context,
      scene,
      Array.from({ length: nodes }, (_, number) => filledNode(number)),
    )),
    conductor_calls_mb: { value: await scene.conductorMegabytes('VmHWM'), unit: 'MB' },
  };
}

async function measureLists({ say }: BenchContext, scene: FleetScene): Promise<Record<string, Figure>> {
  const [conductor] = scene.conductors;
  if (!conductor) return {};
  await scene.database.query('select pg_stat_statements_reset()');
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
    for (const line of await heaviest(scene.database, 2)) say(`  ${line}`);
    say(`${name}: ${round(median(times))} ms, p99 ${round(percentile(times, 0.99))} ms; load ${await loadAverage()}`);
  }
  return figures;
}

/** Machines whose inspections are held: the figure is that of storing heartbeats. */
async function measureHeartbeats(
  { say }: BenchContext,
  scene: FleetScene,
  machines: readonly { readonly name: string; readonly mac: string }[],
): Promise<Record<string, Figure>> {
  const { database, conductors } = scene;
  await database.query("update nodes set provision_state = 'clean wait', maintenance = true");
  const bodies = await Promise.all(
    shares(machines, connections).map(async (share) => {
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
    // held already: nobody looks at them at their first heartbeat
    `insert into flows (uuid, node_uuid, kind, state, next_check_at, held, held_since)
       select gen_random_uuid(), uuid, 'clean', 'waiting', now() + interval '1 day', 'node is in maintenance', now() from nodes`,
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
  // a boot's first heartbeat does more
  await askAll(scene, beats);
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
