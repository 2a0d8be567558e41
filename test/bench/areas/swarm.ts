import { join } from 'node:path';
import { type Area, type BenchContext, type Figure, round } from '#test/bench/area.ts';
import { loadAverage } from '#test/bench/process-figures.ts';
import { measureConductor } from '#test/bench/swarm/measure-conductor.ts';
import { buildRack, type Machine, type MachineResult, type Rack } from '#test/support/swarm/rack.ts';

const twenty = Array.from({ length: 20 }, (_, number) => number + 1);
const mib = 1024 * 1024;

/**
 * Twenty machines in network namespaces that write the same image, against one alone; one whose neighbours are none,
 * dying or slow, against the same without neighbours; memory with a large image. Two cores have to do for all of them:
 * but for the last, links have a tenth of the rates that the goals name (server 100 Mbit/s, machines 1 Gbit/s), and the
 * image has 64 MiB in place of 1 GiB, of which three tenths do not compress.
 */
export const swarmArea: Area = {
  name: 'swarm',
  measure: async (context) => ({
    ...(await measureRack(context)),
    ...(await measureMemory(context)),
    ...(await measureConductor(context)),
  }),
};

async function measureRack({ folder, say }: BenchContext): Promise<Record<string, Figure>> {
  await using rack = await buildRack({
    folder: join(folder, 'rack'),
    machines: twenty.length,
    imageBytes: 64 * mib,
    serverRate: '10mbit',
    machineRate: '100mbit',
  });
  const alone = await writeOne(() => rack.write([1], true));
  const worse = await measureBadNeighbours(rack, alone, say);
  await rack.sent();
  const together = await rack.write(twenty);
  const results = await Promise.all(together.map(({ written }) => written));
  const longest = Math.max(...results.map(({ ms }) => ms));
  const sent = await rack.sent();
  say(`one ${round(alone.ms / 1000)} s, twenty ${round(longest / 1000)} s; load ${await loadAverage()}`);
  return {
    ...worse,
    time_ratio_20: { value: round(longest / alone.ms, 2), unit: 'times one machine' },
    server_sent_ratio: { value: round(sent / rack.storedBytes, 2), unit: 'times the image' },
  };
}

/** The first of those that are started; all are ended. */
async function writeOne(begin: () => Promise<readonly Machine[]>): Promise<MachineResult> {
  const machines = await begin();
  try {
    const written = await machines[0]?.written;
    if (!written) throw new Error('one machine has not written the image');
    return written;
  } finally {
    for (const each of machines) each.kill();
  }
}

/** Machine 1, which is by then the one that none of its neighbours helps, against the server alone. */
async function measureBadNeighbours(
  rack: Rack,
  alone: MachineResult,
  say: (line: string) => void,
): Promise<Record<string, Figure>> {
  const ratio = ({ ms }: MachineResult, base = alone): Figure => ({
    value: round(ms / base.ms, 2),
    unit: 'times the server alone',
  });
  const none = await writeOne(() => rack.write([1]));
  const amongDying = (isAlone: boolean): Promise<MachineResult> =>
    writeOne(async () => {
      const machines = await rack.write([1, 2, 3, 4, 5], isAlone);
      setTimeout(() => {
        for (const each of machines.slice(1, 3)) each.kill();
        for (const number of [4, 5]) void rack.setLink(number, 'down');
      }, alone.ms / 4);
      return machines;
    });
  const dyingAlone = await amongDying(true);
  for (const number of [4, 5]) await rack.setLink(number, '100mbit');
  const dying = await amongDying(false);
  for (const number of [6, 7]) await rack.setLink(number, '200kbit');
  await rack.misbehave(8, 'stalls');
  const slowAlone = await writeOne(() => rack.write([1, 6, 7], true));
  const slow = await writeOne(() => rack.write([1, 6, 7]));
  for (const number of [4, 5, 6, 7]) await rack.setLink(number, '100mbit');
  say(
    `alone ${seconds(alone)}, with none ${seconds(none)}, dying ${seconds(dying)} (alone ${seconds(dyingAlone)}), slow ${seconds(slow)} (alone ${seconds(slowAlone)}) s`,
  );
  return { none_ratio: ratio(none), dying_ratio: ratio(dying, dyingAlone), slow_ratio: ratio(slow, slowAlone) };
}

function seconds({ ms }: MachineResult): number {
  return round(ms / 1000);
}

/** Measures the memory of three machines that send each other an image that is larger than what they keep in memory. */
async function measureMemory({ folder, say }: BenchContext): Promise<Record<string, Figure>> {
  await using rack = await buildRack({
    folder: join(folder, 'rack'),
    machines: 3,
    imageBytes: 768 * mib,
    serverRate: '100mbit',
    machineRate: '1gbit',
  });
  const machines = await rack.write([1, 2, 3]);
  const results = await Promise.all(machines.map(({ written }) => written));
  const peaks = results.map(({ peakKb }) => round(peakKb / 1024));
  const shared = results.map(({ origin }) => round(origin.neighbours / mib));
  say(`of three: ${peaks.join(', ')} MB in memory; ${shared.join(', ')} MiB from each other`);
  return { peak_rss_mb: { value: Math.max(...peaks), unit: 'MB' } };
}
