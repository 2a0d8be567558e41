import { type MeasuredServer, startServer } from '#test/bench/api/server.ts';
import type { Area, BenchContext, Figure } from '#test/bench/area.ts';
import { round } from '#test/bench/area.ts';
import { loadAverage, residentMegabytes } from '#test/bench/process-figures.ts';
import { type ApiDocument, type Door, doorsOf } from '#test/support/door-bodies.ts';

/**
 * How long a conductor answers nobody, and what it takes of memory, while each of its doors gets the largest bodies that
 * its row allows, and an ordinary rule looks at a hostile report.
 */
export const doorsArea: Area = {
  name: 'doors',
  measure: async (context) => {
    const server = await startServer('pg', context.say, {
      BATON_DISCOVERY: 'true',
      BATON_PUBLIC_FAILURES_PER_SECOND: '10000',
    });
    try {
      return await walk(context, server);
    } finally {
      await server.close();
    }
  },
};

interface Seen {
  readonly healthMs: number;
  readonly status: number;
  readonly door: string;
}

async function walk({ say }: BenchContext, { conductor }: MeasuredServer): Promise<Record<string, Figure>> {
  const { url } = conductor;
  const document = (await (await fetch(`${url}/openapi.json`)).json()) as ApiDocument;
  await send(url, { method: 'POST', path: '/v1/nodes' }, '{"driver":"fake-hardware","name":"n1"}');
  await send(url, { method: 'POST', path: '/v1/inspection_rules' }, ordinaryRule);
  const seen: Seen[] = [];
  for (const door of doorsOf(document)) {
    for (const [what, body] of Object.entries(door.bodies)) {
      seen.push(await besideHealth(url, `${door.method} ${door.path} with ${what}`, () => send(url, door, body)));
    }
  }
  const report = { method: 'POST', path: '/v1/continue_inspection' };
  seen.push(await besideHealth(url, 'a rule over a hostile name', () => send(url, report, hostileReport)));
  const slowest = seen.toSorted((one, other) => other.healthMs - one.healthMs);
  for (const { door, healthMs, status } of slowest.slice(0, 8)) say(`${round(healthMs)} ms beside ${door} (${status})`);
  const failed = seen.filter(({ status, door }) => status >= 500 && !ofClusters.test(door));
  for (const { door, status } of failed) say(`${door} answered ${status}`);
  say(`${seen.length} requests; load ${await loadAverage()}`);
  return {
    healthz_ms_max: { value: round(slowest[0]?.healthMs ?? Number.NaN), unit: 'ms' },
    rss_mb: { value: await residentMegabytes(conductor.pid(), 'VmHWM'), unit: 'MB' },
    failures: { value: failed.length, unit: `of ${seen.length}` },
  };
}

/** There is no cluster here, which is answered as a failed step. */
const ofClusters =
  /\/nodes\/n1\/(drain|clear-labels|restore-labels|shutdown-kubelet|remove-from-cluster|remove-etcd|decommission)/;
const ordinaryRule = JSON.stringify({
  description: 'large servers',
  conditions: [
    { op: 'contains', args: { value: '{inventory[system_vendor][product_name]}', regex: 'PowerEdge.*R640' } },
  ],
  actions: [{ op: 'set-attribute', args: { path: '/extra/large', value: 'yes' } }],
});
const hostileReport = JSON.stringify({
  inventory: {
    interfaces: [{ name: 'eth0', mac_address: '52:54:00:00:00:77', ipv4_address: '192.0.2.77' }],
    memory: { physical_mb: 2048 },
    disks: [],
    system_vendor: { product_name: 'PowerEdge '.repeat(30_000) },
  },
});

async function send(url: string, { method, path }: Pick<Door, 'method' | 'path'>, body: string): Promise<number> {
  const headers = { 'Content-Type': 'application/json', 'X-OpenStack-Ironic-API-Version': '1.96' };
  const answer = await fetch(`${url}${path}`, { method, body, headers });
  await answer.arrayBuffer();
  return answer.status;
}

/** The slowest answer of `/healthz` while it is done. */
async function besideHealth(url: string, door: string, act: () => Promise<number>): Promise<Seen> {
  const state = { isDone: false, healthMs: 0 };
  const asked = act().finally(() => Object.assign(state, { isDone: true }));
  while (!state.isDone) {
    const since = performance.now();
    await (await fetch(`${url}/healthz`)).arrayBuffer();
    state.healthMs = Math.max(state.healthMs, performance.now() - since);
  }
  return { door, status: await asked, healthMs: state.healthMs };
}
