import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { listReadings, RecordedDisks } from '#agent/storage/testing/recorded-disks.ts';
import { toKnownDisk } from '#conductor/model/known-disk.ts';
import { neighboursOf } from '#conductor/nodes/inspection/moved-cables.ts';
import { readSkipList } from '#shared/disks/skip-list.ts';
import { silentLog } from '#shared/log.ts';
import { InventoryDocument } from '#shared/wire/inventory.ts';
import { readRecordings } from '#test/recorded/read-recordings.ts';
import {
  recordedDisks,
  type SimulatedSwitchPort,
  simulatedInventory,
} from '#test/simulators/node/simulated-inventory.ts';

/** Simulated machines that begin with recordings, as a conductor reads their inventories. */

const mac = '52:54:00:00:00:01';

async function inventoryOf(
  switchPort: SimulatedSwitchPort | undefined,
  disks: Awaited<ReturnType<typeof recordedDisks>> = [],
): Promise<InventoryDocument> {
  const machine = { run: () => Promise.reject(new Error('no programs')), log: silentLog } as never;
  const inventory = simulatedInventory(mac, switchPort, {}, disks)({ bootMac: mac, lldp: undefined }, machine);
  return InventoryDocument.parse(JSON.parse(JSON.stringify(await inventory.read())));
}

describe('udev', async () => {
  const recordings = await readRecordings('disks', RecordedDisks);

  test.each(recordings)(
    '$name: each name that was recorded protects the disk, and none its neighbour',
    async (recording) => {
      const { outputs, reading } = recording;
      const { disks } = await inventoryOf(undefined, await recordedDisks(outputs));
      const [first, ...own] = (disks ?? []).map(toKnownDisk);
      // the disk that every simulated machine has
      const neighbour = first && { ...first, name: '/dev/neighbour' };
      const readings = listReadings(reading);
      expect(own).toHaveLength(readings.length);
      for (const [index, { serials, wwns, by_paths: paths }] of readings.entries()) {
        const entries = [
          ...serials.map((serial) => ({ serial })),
          ...wwns.map((wwn) => ({ wwn })),
          ...paths.map((path) => ({ by_path: path })),
          { name: own[index]?.name },
        ];
        for (const entry of entries) {
          const isSkipped = readSkipList({ skip_block_devices: [entry] });
          expect([entry, [own[index], neighbour].map((disk) => disk && isSkipped(disk))]).toEqual([
            entry,
            [true, false],
          ]);
        }
      }
    },
  );
});

describe('LLDP', async () => {
  const recordings = await readRecordings('lldp', z.looseObject({}));

  test.each(recordings)('$name: the switch is heard by the machine', async ({ outputs }) => {
    const [neighbour] = neighboursOf(await inventoryOf({ recorded: outputs }));
    const said = outputs['lldpcli show neighbors -f keyvalue'] ?? '';
    const [, name] = /chassis\.name=(.*)$/m.exec(said) ?? [];
    expect(neighbour).toMatchObject({ systemName: name });
  });
});
