import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { start } from '#shared/process/run.ts';
import { forSeconds, type LoadRequest, load } from '#test/bench/api/load.ts';
import type { MeasuredServer } from '#test/bench/api/server.ts';
import { type BenchContext, type Figure, percentile, round } from '#test/bench/area.ts';
import { waitUntil } from '#test/lab/wait-until.ts';
import { freePort } from '#test/support/free-port.ts';
import type { Operator } from '#test/support/operator.ts';

const connections = 16;
const showSeconds = 8;
const warmUpSeconds = 2;

/** A node as operators enroll them. */
export function nodeBody(name: string, more: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  return {
    name,
    driver: 'fake-hardware',
    driver_info: { fake_id: name },
    automated_clean: false,
    resource_class: 'baremetal',
    properties: { cpu_arch: 'x86_64', cpus: 64, memory_mb: 262_144, local_gb: 960, capabilities: 'boot_mode:uefi' },
    extra: { rack: `r${name.length}`, serial: `SN-${name}` },
    ...more,
  };
}

/** `node-<from>` to `node-<to - 1>`, sixteen at a time. */
export function createNodes(
  { conductor, timed }: Pick<MeasuredServer, 'conductor' | 'timed'>,
  range: { from: number; to: number },
) {
  return timed(
    'create a node',
    ({ latenciesMs }) => latenciesMs.length,
    () =>
      load({
        url: conductor.url,
        connections,
        next: (index): LoadRequest | undefined => {
          const number = range.from + index;
          if (number >= range.to) return undefined;
          return { method: 'POST', path: '/v1/nodes', body: JSON.stringify(nodeBody(`node-${number}`)) };
        },
      }),
  );
}

/** Measures what it costs to look at nodes, with as many as there are now. */
export async function measureReading(
  { folder }: BenchContext,
  { conductor, operator, timed }: MeasuredServer,
  nodes: number,
): Promise<Record<string, Figure>> {
  const { url } = conductor;
  const requests = ({ latenciesMs }: { readonly latenciesMs: readonly number[] }) => latenciesMs.length;
  const lists = async (path: string): Promise<Figure> => {
    const get = (times: number) =>
      load({ url, connections: 1, next: (index) => (index < times ? { method: 'GET', path } : undefined) });
    await get(5);
    const { latenciesMs } = await timed(`GET ${path}`, requests, () => get(30));
    return { value: round(percentile(latenciesMs, 0.5)), unit: 'ms' };
  };
  const show = (index: number): LoadRequest => ({ method: 'GET', path: `/v1/nodes/node-${(index * 7919) % nodes}` });
  await load({ url, connections, next: forSeconds(warmUpSeconds, show) });
  const shown = await timed('show a node', requests, () =>
    load({ url, connections, next: forSeconds(showSeconds, show) }),
  );
  const bare = await bareServerPerSecond(folder, operator);
  return {
    show_per_s: {
      value: round(shown.perSecond, 0),
      unit: '1/s',
      baseline: round(bare, 0),
      ratio: round(shown.perSecond / bare, 2),
    },
    list_1000_ms_p50: await lists('/v1/nodes?limit=1000'),
    detail_1000_ms_p50: await lists('/v1/nodes/detail?limit=1000'),
  };
}

/** The same bytes from hono on the same server library, without a database. */
async function bareServerPerSecond(folder: string, operator: Operator): Promise<number> {
  const file = join(folder, 'api-show.json');
  await writeFile(file, JSON.stringify(await operator.node('node-0')));
  const port = await freePort();
  const script = new URL('bare-server.ts', import.meta.url).pathname;
  const server = start(process.execPath, [script, file, String(port)]);
  server.stderr.resume();
  try {
    const url = `http://127.0.0.1:${port}`;
    await waitUntil('the bare server to serve', async () => (await fetch(url)).ok || undefined, { timeoutMs: 30_000 });
    const next = () => ({ method: 'GET', path: '/v1/nodes/node-0' }) as const;
    await load({ url, connections, next: forSeconds(1, next) });
    return (await load({ url, connections, next: forSeconds(3, next) })).perSecond;
  } finally {
    server.kill('SIGTERM');
    await server.exited;
  }
}

/** Asks each node for the verb, and waits until all are in the state. */
export async function moveNodes(
  { conductor, operator }: Pick<MeasuredServer, 'conductor' | 'operator'>,
  names: readonly string[],
  { verb, to }: { readonly verb: string; readonly to: string },
): Promise<void> {
  await load({
    url: conductor.url,
    connections,
    next: (index) => {
      const name = names[index];
      const body = JSON.stringify({ target: verb });
      return name === undefined ? undefined : { method: 'PUT', path: `/v1/nodes/${name}/states/provision`, body };
    },
  });
  const wanted = new Set(names);
  const limits = { timeoutMs: 600_000, everyMs: 100 };
  const last = names.at(-1) ?? '';
  // a list of a thousand every 100 ms would be a part of what is measured: the last one comes among the last
  await waitUntil(
    `${last} to be ${to}`,
    async () => (await operator.node(last))['provision_state'] === to || undefined,
    limits,
  );
  const path = `/v1/nodes?fields=name&limit=1000&provision_state=${encodeURIComponent(to)}`;
  await waitUntil(
    `${names.length} nodes to be ${to}`,
    async () => {
      const { nodes } = await operator.call('GET', path);
      const seen = (nodes as { readonly name: string }[]).filter(({ name }) => wanted.has(name)).length;
      return seen === wanted.size || undefined;
    },
    limits,
  );
}

/** `<figure>_per_s`: from the first request until all nodes are in the state, and what each takes of the conductor's CPU. */
export async function measureVerb(
  server: MeasuredServer,
  names: readonly string[],
  { figure, verb, to }: { readonly figure: string; readonly verb: string; readonly to: string },
): Promise<Record<string, Figure>> {
  const wallSeconds = await server.timed(
    figure,
    () => names.length,
    async () => {
      const startedAt = performance.now();
      await moveNodes(server, names, { verb, to });
      return (performance.now() - startedAt) / 1000;
    },
  );
  return { [`${figure}_per_s`]: { value: round(names.length / wallSeconds), unit: '1/s' } };
}
