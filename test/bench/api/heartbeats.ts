import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from '#shared/process/run.ts';
import { forSeconds, load } from '#test/bench/api/load.ts';
import { moveNodes, nodeBody } from '#test/bench/api/nodes.ts';
import type { MeasuredServer } from '#test/bench/api/server.ts';
import { type BenchContext, type Figure, round } from '#test/bench/area.ts';

const agents = 200;
const connections = 64;
const seconds = 8;
const certificate = `-----BEGIN CERTIFICATE-----\n${'MIIDazCCAlOgAwIBAgIUHk5rB0mS\n'.repeat(40)}-----END CERTIFICATE-----\n`;

/**
 * Heartbeats as agents send them, with their tokens, of machines that wait: their inspections are held by maintenance, so
 * that nobody answers their agents and the figure is that of storing them. What heartbeats set going is in `step` and
 * `deploys`.
 */
export async function measureHeartbeats(
  context: BenchContext,
  server: MeasuredServer,
): Promise<Record<string, Figure>> {
  const { conductor, operator, timed } = server;
  const names = Array.from({ length: agents }, (_, index) => `beats-${index}`);
  for (const [index, name] of names.entries()) {
    const { uuid } = await operator.call(
      'POST',
      '/v1/nodes',
      nodeBody(name, { deploy_interface: 'direct', inspect_interface: 'agent' }),
    );
    await operator.call('POST', '/v1/ports', { node_uuid: uuid, address: macOf(index) });
  }
  await moveNodes(server, names, { verb: 'manage', to: 'manageable' });
  await moveNodes(server, names, { verb: 'inspect', to: 'inspect wait' });
  const bodies: string[] = [];
  for (const [index, name] of names.entries()) {
    const { config } = await operator.call('GET', `/v1/lookup?addresses=${macOf(index)}`);
    await operator.call('PUT', `/v1/nodes/${name}/maintenance`, { reason: 'bench' });
    bodies.push(
      JSON.stringify({
        callback_url: `https://10.1.0.${index}:9999`,
        agent_version: '11.3.0',
        agent_token: (config as { readonly agent_token: string }).agent_token,
        agent_verify_ca: certificate,
        agent_status: null,
        agent_status_message: null,
      }),
    );
  }
  const beat = (index: number) =>
    ({
      method: 'POST',
      path: `/v1/heartbeat/${names[index % agents]}`,
      body: bodies[index % agents] ?? '',
    }) as const;
  const { url } = conductor;
  await load({ url, connections, next: forSeconds(2, beat) });
  const beaten = await timed(
    'take a heartbeat',
    ({ latenciesMs }) => latenciesMs.length,
    () => load({ url, connections, next: forSeconds(seconds, beat) }),
  );
  const single = await commitEachPerSecond(context, server);
  return {
    heartbeats_per_s: {
      value: round(beaten.perSecond, 0),
      unit: '1/s',
      ...(single ? { baseline: round(single, 0), ratio: round(beaten.perSecond / single, 2) } : {}),
    },
  };
}

/** PostgreSQL's own pgbench: nothing but the update, prepared, each with a commit of its own. */
async function commitEachPerSecond({ folder }: BenchContext, server: MeasuredServer): Promise<number | undefined> {
  if (server.databaseUrl === undefined) return undefined;
  const script = join(folder, 'heartbeat.sql');
  await writeFile(
    script,
    `\\set i random(0, ${agents - 1})
UPDATE agent_sessions SET last_heartbeat_at = now() WHERE node_uuid = (SELECT uuid FROM nodes WHERE name = 'beats-' || :i);
`,
  );
  const { stdout } = await run('/usr/lib/postgresql/15/bin/pgbench', [
    '-n',
    '--protocol=prepared',
    '--client=10',
    '--time=4',
    `--file=${script}`,
    server.databaseUrl,
  ]);
  return Number(/^tps = ([\d.]+)/m.exec(stdout)?.[1]);
}

function macOf(index: number): string {
  return `52:54:00:05:00:${index.toString(16).padStart(2, '0')}`;
}
