import { z } from 'zod';
import { addIdentity } from '#agent/storage/device-identity.ts';
import { type BlockDevice, parseLsblk } from '#agent/storage/lsblk.ts';
import { ranWell } from '#agent/testing/fake-services.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { Run } from '#shared/process/run.ts';

/** Recordings below `test/recorded/disks`: of one disk, or of a whole machine as `baton node record` makes them. */

const DiskReading = z.strictObject({
  serial: z.string().nullable(),
  wwn: z.string().nullable(),
  by_path: z.string().nullable(),
  serials: z.array(z.string()).readonly(),
  wwns: z.array(z.string()).readonly(),
  by_paths: z.array(z.string()).readonly(),
});

/** Readings of one disk, or by the names of a machine's disks. */
export const RecordedDisks = z.union([DiskReading, z.record(z.string().startsWith('/dev/'), DiskReading)]);

const asked = 'udevadm info --query=property';

type DiskReading = z.infer<typeof DiskReading>;
type Readings = z.infer<typeof RecordedDisks>;

function isOfOne(readings: Readings): readings is DiskReading {
  return Array.isArray(readings['serials' as keyof Readings]);
}

/** The readings of a recording's disks, in their order. */
export function listReadings(readings: Readings): readonly DiskReading[] {
  return isOfOne(readings) ? [readings] : Object.values(readings);
}

/** Prints udev's text of the disk that is asked for, as it was recorded. */
function recordedUdev(outputs: Readonly<Record<string, string>>): Run {
  return (_command, args) => {
    const text = outputs[`${asked} ${args.at(-1)}`] ?? outputs[asked];
    if (text !== undefined) return Promise.resolve(ranWell(text));
    return Promise.reject(new AppError('command_failed', `udevadm of ${args.at(-1)} is not recorded`));
  };
}

/** The disks of a recording, by their names, as the agent reads them. */
export async function readRecordedDisks(outputs: Readonly<Record<string, string>>): Promise<readonly BlockDevice[]> {
  const run = recordedUdev(outputs);
  const devices = parseLsblk(outputs['lsblk --json'] ?? '').filter(({ name }) => isAsked(outputs, name));
  return Promise.all(devices.map((device) => addIdentity(run, device, { sys: '/nowhere', dev: '/nowhere' })));
}

/** A machine has optical drives, too, of which udev was not asked. */
function isAsked(outputs: Readonly<Record<string, string>>, name: string): boolean {
  return asked in outputs || `${asked} --name=${name}` in outputs;
}

/** The reading in the form that the recording has. */
export function readingOf(devices: readonly BlockDevice[], form: Readings): object {
  const readings = devices.map(({ name, serial, wwn, byPath, serials, wwns, links }) => {
    const paths = links.filter((link) => link.startsWith('/dev/disk/by-path/'));
    return [name, { serial, wwn, by_path: byPath, serials, wwns, by_paths: paths }] as const;
  });
  const [only] = readings;
  return isOfOne(form) && only ? only[1] : Object.fromEntries(readings);
}
