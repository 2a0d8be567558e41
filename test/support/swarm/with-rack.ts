import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from '#shared/process/run.ts';
import { buildRack, type Machine, type Rack } from '#test/support/swarm/rack.ts';

/** A rack whose server and machines have a tenth of 100 Mbit/s and 1 Gbit/s: two cores have to do for all of them. */
export async function withRack(
  machines: number,
  imageBytes: number,
  use: (rack: Rack) => Promise<void>,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'baton-rack-'));
  try {
    await using rack = await buildRack({
      folder: join(folder, 'rack'),
      machines,
      imageBytes,
      serverRate: '10mbit',
      machineRate: '100mbit',
    });
    await use(rack);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Waits for them, and throws where a disk is not the image byte for byte. @returns what came from where */
export async function requireWritten(rack: Rack, machines: readonly Machine[]) {
  const results = await Promise.all(machines.map(({ written }) => written));
  for (const { disk } of machines) await run('cmp', [rack.raw, disk]);
  return results.map(({ origin }) => origin);
}
