import { expect, test } from 'vitest';
import { z } from 'zod';
import { readIdentities } from '#conductor/nodes/inspection/continue-inspection.ts';
import { planInspection } from '#conductor/nodes/inspection/plan-inspection.ts';
import { InspectionReport, type InventoryDocument } from '#shared/wire/inventory.ts';
import { readRecordings } from '#test/recorded/read-recordings.ts';

const texts = z.array(z.string());
const refused = z.literal('refused');
const Reading = z.strictObject({
  /** MAC addresses by which the machine is known. */
  addresses: z.union([refused, texts]),
  bmc: texts.optional(),
  /** Made of it for a node without any. */
  ports: z.union([refused, texts]).optional(),
  properties: z.record(z.string(), z.unknown()).nullish(),
  /** `null`: nobody has looked. */
  disks: texts.nullish(),
});
type Reading = z.infer<typeof Reading>;

const recordings = await readRecordings('inventories', Reading);

test.each(recordings)('$name: $shows', ({ outputs, reading }) => {
  const report = InspectionReport.safeParse(JSON.parse(outputs['POST /v1/continue_inspection'] ?? ''));
  expect(report.success ? read(report.data.inventory) : { addresses: 'refused' }).toEqual(reading);
});

function read(inventory: InventoryDocument): Reading {
  const { addresses, bmcAddresses } = readIdentities(inventory);
  return {
    addresses: [...addresses],
    bmc: [...bmcAddresses],
    ...plan(inventory),
    disks: inventory.disks?.map(({ name }) => name) ?? null,
  };
}

/** No switch is heard in the recordings. */
const nowhere = () => ({ switchId: undefined, portId: undefined, isListed: false });

function plan(inventory: InventoryDocument): Pick<Reading, 'ports' | 'properties'> {
  try {
    const { newPorts, properties } = planInspection({ properties: {} }, [], { inventory, placeOf: nowhere });
    return { ports: newPorts.map(({ address }) => address), properties };
  } catch {
    return { ports: 'refused', properties: null };
  }
}
