import { afterEach, expect, test } from 'vitest';
import type { VirtualMediaInterface } from '#conductor/drivers/interfaces.ts';
import { redfishHardwareType } from '#conductor/drivers/redfish/redfish.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { silentLog } from '#shared/log.ts';
import { run } from '#shared/process/run.ts';
import type { Quirks } from '#test/simulators/redfish/faults.ts';
import { createMemoryMachine } from '#test/simulators/redfish/machine.ts';
import { type RedfishSimulator, startRedfishSimulator } from '#test/simulators/redfish/simulator.ts';

const closing: (() => Promise<void> | undefined)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function rig(quirks: Partial<Quirks>): Promise<{
  readonly media: VirtualMediaInterface;
  readonly inDrive: () => string | undefined;
  readonly simulator: RedfishSimulator;
}> {
  let inDrive: string | undefined;
  const setMedia = (url: string | undefined): void => void (inDrive = url);
  const machine = { ...createMemoryMachine(), setMedia };
  const simulator = await startRedfishSimulator({ machine, username: 'admin', password: 'secret', quirks });
  const type = redfishHardwareType({ run, log: silentLog }, { retryMs: 5 });
  closing.push(
    () => type.close?.(),
    () => simulator.close(),
  );
  const login = { redfish_username: 'admin', redfish_password: 'secret' };
  const { virtualMedia: media } = type.connect({ redfish_address: simulator.address, ...login });
  if (!media) throw new AppError('internal', 'the driver has no virtual media');
  return { media, inDrive: () => inDrive, simulator };
}

test.each<[string, Partial<Quirks>]>([
  ['at the manager', {}],
  ['at the system', { virtualMedia: 'of the system' }],
  ['by PATCH, with ETags demanded', { virtualMedia: 'by PATCH', requireIfMatch: true }],
  ['when the protocol is named', { virtualMedia: 'by its protocol' }],
  ['by tasks', { tasks: true, taskPolls: 1 }],
])('fills, replaces and empties the CD drive %s', async (_, quirks) => {
  const { media, inDrive } = await rig(quirks);
  await media.insert('https://192.0.2.9/one.iso');
  expect(inDrive()).toBe('https://192.0.2.9/one.iso');
  await media.insert('http://192.0.2.9/two.iso');
  expect(inDrive()).toBe('http://192.0.2.9/two.iso');
  await media.eject();
  expect(inDrive()).toBeUndefined();
});

test('an empty drive is left as it is', async () => {
  const { media, simulator } = await rig({});
  await media.eject();
  expect(simulator.requests.filter(({ method, path }) => method === 'POST' && path.includes('Media'))).toEqual([]);
});

test('a BMC without a virtual CD drive is named, with what to do', async () => {
  const { media } = await rig({ virtualMedia: 'none' });
  await expect(media.insert('http://192.0.2.9/one.iso')).rejects.toMatchObject({
    code: 'not_supported',
    message: expect.stringContaining("has no virtual CD drive; set boot_interface to 'ipxe'"),
  });
});

test("an image that the BMC can't read is the BMC's own words", async () => {
  const { media, simulator } = await rig({});
  const body = { error: { code: 'x', message: 'The image could not be read.' } };
  simulator.inject({ method: 'POST', path: /InsertMedia$/, status: 400, body, times: 3 });
  await expect(media.insert('http://192.0.2.9/one.iso')).rejects.toMatchObject({
    code: 'bmc_error',
    message: expect.stringContaining('insert virtual media at'),
    cause: { message: expect.stringContaining('The image could not be read.') },
  });
});
