import { z } from 'zod';
import { type ComputerSystem, orUndefined, Status } from '#conductor/drivers/redfish/client/schemas.ts';
import { type Ask, readPartsOf, sumOf } from '#conductor/drivers/redfish/inspection/part.ts';

const Memory = z.looseObject({
  CapacityMiB: orUndefined(z.number()),
  MemoryType: orUndefined(z.string()),
  Status: orUndefined(Status),
});

/** Reads the machine's memory in MiB: the BMC's sum, else that of the modules where each tells its size. */
export async function readMemory(ask: Ask, system: ComputerSystem): Promise<number | undefined> {
  const gib = system.MemorySummary?.TotalSystemMemoryGiB;
  if (gib) return Math.round(gib * 1024);
  const place = system.Memory?.['@odata.id'];
  const found = place === undefined ? [] : await readPartsOf(ask, place, Memory);
  // empty slots are listed, some as absent and some by a size of 0
  const sizes = found
    .filter(({ data }) => data.Status?.State !== 'Absent' && data.CapacityMiB !== 0)
    .map(({ data }) => data.CapacityMiB);
  const sum = ask.unread.length === 0 ? sumOf(sizes) : undefined;
  if (sum === undefined) ask.missing.push('the BMC shows no size of the memory');
  return sum;
}
