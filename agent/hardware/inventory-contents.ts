import type { BlockDevice } from '#agent/storage/lsblk.ts';
import { blkidProperty, probeSignatures } from '#agent/storage/partition-table.ts';
import type { Log } from '#shared/log.ts';
import type { Run } from '#shared/process/run.ts';
import type { DiskContent } from '#shared/wire/inventory.ts';

/**
 * Reads what stands on a disk now, by `blkid`'s low-level probing (udev's database lags behind): its partition table or
 * what covers the whole of it, its partitions, the arrays and volumes made of it. `null`, with the reason logged, when
 * the disk can't be read: a broken disk must not hide the others.
 */
export async function readContents(
  device: BlockDevice,
  machine: { readonly run: Run; readonly devices: readonly BlockDevice[]; readonly log: Log },
): Promise<DiskContent[] | null> {
  const { run, devices, log } = machine;
  try {
    const whole = await probe(run, device.name, device.sizeBytes);
    const partitions = await Promise.all(
      device.partitions.map((partition) => probe(run, partition.name, partition.sizeBytes)),
    );
    const holders = device.holders.map((name): DiskContent => {
      const made = devices.find((each) => each.name === name);
      return { name, size: made?.sizeBytes ?? null, type: made?.type ?? null, label: null };
    });
    return [...(whole.type === null ? [] : [whole]), ...partitions, ...holders];
  } catch (error) {
    log.warn({ err: error, disk: device.name }, 'could not read the contents of the disk');
    return null;
  }
}

async function probe(run: Run, name: string, size: number): Promise<DiskContent> {
  const { stdout: found, contradicting } = await probeSignatures(run, name);
  const first = (...keys: readonly string[]): string | null =>
    keys.map((key) => blkidProperty(found, key)).find((value) => value !== null) ?? null;
  return {
    name,
    size,
    type: contradicting.join(' or ') || first('TYPE', 'PTTYPE'),
    label: first('LABEL', 'PART_ENTRY_NAME'),
  };
}
