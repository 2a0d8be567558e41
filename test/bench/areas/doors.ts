import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type MeasuredServer, startServer } from '#test/bench/api/server.ts';
import type { Area, BenchContext, Figure } from '#test/bench/area.ts';
import { round } from '#test/bench/area.ts';
import { loadAverage, residentMegabytes } from '#test/bench/process-figures.ts';
import {
  type Answer,
  doorSettings,
  faultOf,
  furnish,
  type Knock,
  knock,
  knocksAt,
  readHistories,
  ruleGivenUp,
} from '#test/support/walk-doors.ts';

/**
 * How long a conductor answers nobody, and what it takes of memory, while everybody knocks at each of its doors with the
 * largest bodies that its row allows and with larger ones, and an ordinary rule looks at a hostile report.
 */
export const doorsArea: Area = {
  name: 'doors',
  measure: async (context) => {
    const directory = await mkdtemp(join(tmpdir(), 'baton-doors-'));
    const server = await startServer('pg', context.say, await doorSettings(directory));
    try {
      return await walk(context, server);
    } finally {
      await server.close();
      await rm(directory, { recursive: true, force: true });
    }
  },
};

interface Seen {
  readonly healthMs: number;
  readonly name: string;
  readonly fault: string | undefined;
}

async function walk({ say }: BenchContext, { conductor }: MeasuredServer): Promise<Record<string, Figure>> {
  const { url } = conductor;
  await furnish(url);
  const seen: Seen[] = [];
  const memory = { most: 0 };
  for await (const each of knocksAt(url)) {
    if (seen.length === 1 && !(await readHistories(url)).includes(ruleGivenUp)) say('the rule was not given up');
    const { healthMs, answer } = await besideHealth(url, each);
    seen.push({ healthMs, name: each.name, fault: faultOf(each, answer) });
    const megabytes = await residentMegabytes(conductor.pid(), 'VmHWM');
    if (megabytes >= memory.most + 20) {
      say(`${megabytes} MB since ${each.name}`);
      memory.most = megabytes;
    }
  }
  const slowest = seen.toSorted((one, other) => other.healthMs - one.healthMs);
  for (const { name, healthMs } of slowest.slice(0, 12)) say(`${round(healthMs)} ms beside ${name}`);
  const failed = seen.filter(({ fault }) => fault !== undefined);
  for (const { name, fault } of failed) say(`${name}: ${fault}`);
  say(`${seen.length} requests; load ${await loadAverage()}`);
  return {
    healthz_ms_max: { value: round(slowest[0]?.healthMs ?? Number.NaN), unit: 'ms' },
    rss_mb: { value: await residentMegabytes(conductor.pid(), 'VmHWM'), unit: 'MB' },
    failures: { value: failed.length, unit: `of ${seen.length}` },
  };
}

/** The slowest answer of `/healthz` while it is done. */
async function besideHealth(url: string, each: Knock): Promise<{ readonly healthMs: number; readonly answer: Answer }> {
  // made before: this process has the same thread for it
  const body = each.body();
  const state = { isDone: false, healthMs: 0 };
  const asked = knock(url, { ...each, body: () => body }).finally(() => Object.assign(state, { isDone: true }));
  while (!state.isDone) {
    const since = performance.now();
    await (await fetch(`${url}/healthz`)).arrayBuffer();
    state.healthMs = Math.max(state.healthMs, performance.now() - since);
  }
  return { answer: await asked, healthMs: state.healthMs };
}
