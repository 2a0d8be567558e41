import { systemClock } from '#shared/clock.ts';
import type { Area } from '#test/bench/area.ts';
import { residentMegabytes } from '#test/bench/process-figures.ts';
import { prepareConductor } from '#test/support/conductor.ts';

const settledSamples = 5;

/** Memory of a conductor with its private server that has nothing to do, once it no longer changes. */
export const conductorArea: Area = {
  name: 'conductor',
  measure: async ({ say }) => {
    const conductor = await prepareConductor();
    try {
      await conductor.start();
      say('waiting until its memory settles');
      return { idle_rss_mb: { value: await settledRss(conductor.pid()), unit: 'MB' } };
    } finally {
      await conductor.close();
    }
  },
};

/** Megabytes resident, after some seconds within one per cent of each other; at most a minute. */
async function settledRss(pid: number): Promise<number> {
  const samples: number[] = [];
  for (let second = 0; second < 60; second += 1) {
    await systemClock.sleep(1000);
    samples.push(await residentMegabytes(pid, 'VmRSS'));
    const last = samples.slice(-settledSamples);
    if (last.length === settledSamples && Math.max(...last) - Math.min(...last) < 0.01 * Math.max(...last)) break;
  }
  return samples.at(-1) ?? 0;
}
