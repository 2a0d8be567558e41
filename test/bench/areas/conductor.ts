import { systemClock } from '#shared/clock.ts';
import { run } from '#shared/process/run.ts';
import { type Area, type BenchContext, type Figure, median, round } from '#test/bench/area.ts';
import { loadAverage, residentMegabytes } from '#test/bench/process-figures.ts';
import { processTree, proportionalMegabytes } from '#test/bench/process-tree.ts';
import { type ConductorProcess, prepareConductor } from '#test/support/conductor.ts';
import { batonProgram } from '#test/support/programs.ts';

const firstStarts = 3;
const laterStarts = 5;
const commandRuns = 20;
const settledSamples = 5;

/** Area of what a conductor with its own database takes to start and to be there, and a command of `baton`. */
export const conductorArea: Area = {
  name: 'conductor',
  measure: async ({ say }) => {
    // makes the bundles, should a source have changed
    await run(batonProgram, ['--version']);
    const firsts = [];
    for (let index = 1; index < firstStarts; index += 1) {
      const conductor = await prepareConductor();
      try {
        firsts.push(await firstStart(conductor));
      } finally {
        await conductor.close();
      }
    }
    const conductor = await prepareConductor();
    try {
      firsts.push(await firstStart(conductor));
      say(`started for the first time ${firstStarts} times; load ${await loadAverage()}`);
      const later = await startsAgain(conductor);
      say('waiting until its memory settles');
      return {
        first_start_s: seconds(firsts.map((each) => each.seconds)),
        first_start_peak_mb: { value: round(Math.max(...firsts.map((each) => each.peakMegabytes))), unit: 'MB' },
        start_s: seconds(later),
        idle_pss_mb: { value: await settledMemory(conductor), unit: 'MB' },
        ...(await commands(conductor, say)),
      };
    } finally {
      await conductor.close();
    }
  },
};

const seconds = (values: readonly number[]): Figure => ({ value: round(median(values), 3), unit: 's' });

async function timed(act: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await act();
  return (performance.now() - began) / 1000;
}

const treeOf = (conductor: ConductorProcess) => processTree(conductor.pid(), conductor.dataDirectory);

/** The most that the conductor ever had, as the kernel knows it, and that its other processes had when looked at. */
async function firstStart(conductor: ConductorProcess): Promise<{ seconds: number; peakMegabytes: number }> {
  const up = new AbortController();
  let others = 0;
  const look = async (): Promise<void> => {
    while (!up.signal.aborted) {
      const pids = await treeOf(conductor);
      others = Math.max(others, await proportionalMegabytes(pids.filter((pid) => pid !== conductor.pid())));
      await systemClock.sleep(50);
    }
  };
  const starting = timed(() => conductor.start()).finally(() => up.abort());
  const [took] = await Promise.all([starting, look()]);
  return { seconds: took, peakMegabytes: others + (await residentMegabytes(conductor.pid(), 'VmHWM')) };
}

/** On a database that is there, after it was stopped in order. */
async function startsAgain(conductor: ConductorProcess): Promise<number[]> {
  const times = [];
  for (let index = 0; index < laterStarts; index += 1) {
    await conductor.kill('SIGTERM');
    times.push(await timed(() => conductor.start()));
  }
  return times;
}

/** Reads the memory of all its processes, after some seconds within one per cent of each other; at most a minute. */
async function settledMemory(conductor: ConductorProcess): Promise<number> {
  const samples: number[] = [];
  for (let second = 0; second < 60; second += 1) {
    await systemClock.sleep(1000);
    samples.push(await proportionalMegabytes(await treeOf(conductor)));
    const last = samples.slice(-settledSamples);
    if (last.length === settledSamples && Math.max(...last) - Math.min(...last) < 0.01 * Math.max(...last)) break;
  }
  return samples.at(-1) ?? Number.NaN;
}

async function commands(conductor: ConductorProcess, say: BenchContext['say']): Promise<Record<string, Figure>> {
  const measure = async (args: readonly string[]): Promise<Figure> => {
    const times = [];
    for (let index = 0; index < commandRuns; index += 1) {
      times.push(await timed(() => run(batonProgram, args, { env: { BATON_URL: conductor.url } })));
    }
    return seconds(times);
  };
  const figures = { 'cli.version_s': await measure(['--version']), 'cli.node_list_s': await measure(['node', 'list']) };
  say(`ran baton ${2 * commandRuns} times; load ${await loadAverage()}`);
  return figures;
}
