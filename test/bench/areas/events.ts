import { get, type IncomingMessage } from 'node:http';
import { Client } from 'pg';
import { createNodes } from '#test/bench/api/nodes.ts';
import { type MeasuredServer, startServer } from '#test/bench/api/server.ts';
import { type Area, type BenchContext, type Figure, percentile, round } from '#test/bench/area.ts';
import { cpuSeconds, loadAverage, residentMegabytes } from '#test/bench/process-figures.ts';

const watchers = 1000;
/** So many may come from one address. */
const perAddress = 50;
const eventsPerSecond = 200;
const busySeconds = 20;
const fleet = 10_000;
const latencies = 60;

/**
 * Area of what the stream of events costs: a thousand watchers at 200 changes a second, and how long one change takes
 * to one watcher of ten thousand nodes. Changes are written into the database from here, so that they cost the
 * conductor nothing.
 */
export const eventsArea: Area = {
  name: 'events',
  measure: async (context) => {
    const server = await startServer('pg', context.say);
    const database = new Client({ connectionString: server.databaseUrl ?? '' });
    const streams: IncomingMessage[] = [];
    try {
      await database.connect();
      await createNodes(server, { from: 0, to: 1000 });
      const watched = await measureWatchers(context, { server, database, streams });
      await createNodes(server, { from: 1000, to: fleet });
      return { ...watched, [`latency_ms_p95_${fleet}`]: await measureLatency({ server, database, streams }) };
    } finally {
      for (const stream of streams) stream.destroy();
      await database.end();
      await server.close();
    }
  },
};

interface World {
  readonly server: MeasuredServer;
  readonly database: Client;
  /** Streams that are open. */
  readonly streams: IncomingMessage[];
}

async function measureWatchers({ say }: BenchContext, world: World): Promise<Record<string, Figure>> {
  const pid = world.server.conductor.pid();
  const before = await residentMegabytes(pid, 'VmRSS');
  const heard = { events: 0 };
  for (let index = 0; index < watchers; index += 1) {
    const stream = await follow(world, `127.0.1.${1 + Math.floor(index / perAddress)}`);
    stream.on('data', (chunk: Buffer) => {
      for (let at = chunk.indexOf('event: node'); at >= 0; at = chunk.indexOf('event: node', at + 1)) heard.events += 1;
    });
  }
  const began = await cpuSeconds(pid);
  for (let second = 0; second < busySeconds; second += 1) {
    const next = new Promise((resolve) => setTimeout(resolve, 1000));
    await world.database.query(
      'update nodes set last_error = $1 where uuid in (select uuid from nodes order by random() limit $2)',
      [`event ${second}`, eventsPerSecond],
    );
    await next;
  }
  const spent = (await cpuSeconds(pid)) - began;
  const after = await residentMegabytes(pid, 'VmRSS');
  const wanted = watchers * eventsPerSecond * busySeconds;
  say(`${heard.events} of ${wanted} events heard; load ${await loadAverage()}`);
  for (const stream of world.streams.splice(0)) stream.destroy();
  return {
    [`memory_mb_${watchers}`]: { value: round(after - before), unit: 'MB' },
    [`cpu_percent_${watchers}`]: { value: round((100 * spent) / busySeconds), unit: '% of a core' },
    [`heard_share_${watchers}`]: { value: round(heard.events / wanted, 3), unit: 'of all' },
  };
}

async function measureLatency(world: World): Promise<Figure> {
  const stream = await follow(world, '127.0.1.1');
  const found: number[] = [];
  let text = '';
  let hear = (): void => undefined;
  stream.on('data', (chunk: Buffer) => {
    text = text.slice(-200) + chunk.toString();
    hear();
  });
  for (let index = 0; index < latencies; index += 1) {
    const mark = `latency-${index}-of-the-bench`;
    const heard = new Promise<void>((resolve) => {
      hear = () => text.includes(mark) && resolve();
    });
    const since = performance.now();
    await world.database.query('update nodes set last_error = $1 where name = $2', [mark, `node-${index * 37}`]);
    await heard;
    found.push(performance.now() - since);
  }
  return { value: round(percentile(found, 0.95)), unit: 'ms' };
}

/** A stream of events that has begun. */
async function follow({ server, streams }: World, localAddress: string): Promise<IncomingMessage> {
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    get(`${server.conductor.url}/v1/events`, { localAddress, agent: false }, resolve).on('error', reject);
  });
  if (answer.statusCode !== 200) throw new Error(`/v1/events answered ${answer.statusCode}`);
  streams.push(answer);
  answer.on('error', () => undefined); // its end is this bench's own
  await new Promise((resolve) => answer.once('data', resolve));
  return answer;
}
