import { Client } from 'pg';
import { NeighboursAnswer } from '#shared/wire/neighbours.ts';
import { nodeBody } from '#test/bench/api/nodes.ts';
import { type MeasuredServer, startServer } from '#test/bench/api/server.ts';
import { type BenchContext, type Figure, round } from '#test/bench/area.ts';
import { cpuSeconds, loadAverage } from '#test/bench/process-figures.ts';

const agents = 1000;
const seconds = 70;
/** In which the agents come to their images. */
const startSeconds = 10;

/**
 * Measures what a thousand agents cost that write the same image: each asks who else is there, as often as it is told
 * to.
 */
export async function measureConductor({ say }: BenchContext): Promise<Record<string, Figure>> {
  const server = await startServer('pg', say);
  const database = new Client({ connectionString: server.databaseUrl ?? '' });
  try {
    await database.connect();
    const bodies = await enrolAgents(server, database);
    const pid = server.conductor.pid();
    const began = await cpuSeconds(pid);
    const until = performance.now() + seconds * 1000;
    let calls = 0;
    const askOn = async (number: number): Promise<void> => {
      await sleep((startSeconds * 1000 * number) / agents);
      while (performance.now() < until) {
        const answer = await server.operator.call('POST', `/v1/neighbours/swarm-${number}`, bodies[number]);
        calls += 1;
        const { next_ms: nextMs } = NeighboursAnswer.parse(answer);
        await sleep(Math.min(nextMs, Math.max(0, until - performance.now())));
      }
    };
    await Promise.all(bodies.map((_, number) => askOn(number)));
    const spent = (await cpuSeconds(pid)) - began;
    say(`${calls} calls of ${agents} agents in ${seconds} s; load ${await loadAverage()}`);
    return { [`conductor_cpu_percent_${agents}`]: { value: round((100 * spent) / seconds), unit: '% of a core' } };
  } finally {
    await database.end();
    await server.close();
  }
}

async function enrolAgents({ operator }: MeasuredServer, database: Client): Promise<readonly object[]> {
  const numbers = Array.from({ length: agents }, (_, number) => number);
  for (const number of numbers) {
    const { uuid } = await operator.call('POST', '/v1/nodes', nodeBody(`swarm-${number}`));
    await operator.call('POST', '/v1/ports', { node_uuid: uuid, address: macOf(number) });
  }
  await database.query("update nodes set provision_state = 'clean wait'");
  const bodies: object[] = [];
  for (const number of numbers) {
    const { config } = await operator.call('GET', `/v1/lookup?addresses=${macOf(number)}`);
    const { agent_token: token } = config as { readonly agent_token: string };
    await operator.call('POST', `/v1/heartbeat/swarm-${number}`, {
      callback_url: `https://10.1.${number >> 8}.${number & 255}:9999`,
      agent_version: '1',
      agent_token: token,
    });
    bodies.push({ agent_token: token, image: 'a'.repeat(64), port: 40_000, certificate_sha256: 'b'.repeat(64) });
  }
  await database.query("update nodes set instance_info = jsonb_build_object('image_checksum', repeat('a', 64))");
  // nobody works on them: what is measured is the agents' calls
  await database.query(
    "insert into flows (uuid, node_uuid, kind, state, next_check_at) select gen_random_uuid(), uuid, 'deploy', 'waiting', now() + interval '1 day' from nodes",
  );
  return bodies;
}

function macOf(number: number): string {
  return `52:54:01:00:${(number >> 8).toString(16).padStart(2, '0')}:${(number & 255).toString(16).padStart(2, '0')}`;
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
