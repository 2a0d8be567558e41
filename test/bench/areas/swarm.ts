import { join } from 'node:path';
import { type Area, type BenchContext, type Figure, round } from '#test/bench/area.ts';
import { loadAverage } from '#test/bench/process-figures.ts';
import { measureConductor } from '#test/bench/swarm/measure-conductor.ts';
import { buildRack } from '#test/support/swarm/rack.ts';

const machines = Array.from({ length: 20 }, (_, number) => number + 1);

/**
 * Twenty machines in network namespaces that write the same image, against one alone. Two cores have to do for all of
 * them: links have a tenth of the rates that the goals name (server 100 Mbit/s, machines 1 Gbit/s), and the image has
 * 64 MiB in place of 1 GiB, of which three tenths do not compress.
 */
export const swarmArea: Area = {
  name: 'swarm',
  measure: async (context) => ({ ...(await measureRack(context)), ...(await measureConductor(context)) }),
};

async function measureRack({ folder, say }: BenchContext): Promise<Record<string, Figure>> {
  await using rack = await buildRack({
    folder: join(folder, 'rack'),
    machines: machines.length,
    imageBytes: 64 * 1024 * 1024,
    serverRate: '10mbit',
    machineRate: '100mbit',
  });
  const [only] = await rack.write([1], true);
  const alone = await only?.written;
  if (!alone) throw new Error('one machine has not written the image');
  await rack.sent();
  const together = await rack.write(machines);
  const results = await Promise.all(together.map(({ written }) => written));
  const longest = Math.max(...results.map(({ ms }) => ms));
  const sent = await rack.sent();
  say(`one ${round(alone.ms / 1000)} s, twenty ${round(longest / 1000)} s; load ${await loadAverage()}`);
  return {
    time_ratio_20: { value: round(longest / alone.ms, 2), unit: 'times one machine' },
    server_sent_ratio: { value: round(sent / rack.storedBytes, 2), unit: 'times the image' },
  };
}
