import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import type { Bmc } from '#conductor/drivers/interfaces.ts';
import { redfishHardwareType } from '#conductor/drivers/redfish/redfish.ts';
import { errorChain } from '#shared/errors/app-error.ts';
import { silentLog } from '#shared/log.ts';
import { run } from '#shared/process/run.ts';
import { readRecordings } from '#test/recorded/read-recordings.ts';
import { readAnswers } from '#test/recorded/recorded-answers.ts';
import { createMemoryMachine } from '#test/simulators/redfish/machine.ts';
import { startRedfishSimulator } from '#test/simulators/redfish/simulator.ts';

const refused = z.literal('refused');
const Reading = z
  .strictObject({
    /** Path of the only system. */
    system: z.string(),
    power: z.union([refused, z.enum(['on', 'off', 'unknown'])]),
    boot: z.strictObject({
      device: z.string().nullable(),
      persistent: z.boolean().optional(),
      mode: z.string().nullable(),
    }),
    /** Name and level, of all controllers. */
    volumes: z.union([refused, z.array(z.string())]),
    /** The image in the virtual CD drive. */
    media: z.union([refused, z.string()]),
    sensors: z.record(z.string(), z.strictObject({ value: z.number().nullable(), health: z.string().nullable() })),
    /** Part of each refusal. */
    says: z.string(),
  })
  .partial();
type Reading = z.infer<typeof Reading>;

const recordings = await readRecordings('redfish', Reading);

/** The BMC of a recording, and the driver's way to it. */
async function begin(outputs: Readonly<Record<string, string>>) {
  const account = { username: 'admin', password: 'open sesame' };
  const simulator = await startRedfishSimulator({ ...account, machine: createMemoryMachine(), recorded: outputs });
  const type = redfishHardwareType({ run, log: silentLog }, { retryMs: 1 });
  const bmc = type.connect({
    redfish_address: simulator.address,
    redfish_username: account.username,
    redfish_password: account.password,
    redfish_auth_type: 'basic',
  });
  onTestFinished(async () => {
    await type.close?.();
    await simulator.close();
  });
  return { simulator, bmc };
}

test.each(recordings)('$name: $shows', async ({ outputs, reading }) => {
  const { simulator, bmc } = await begin(outputs);
  expect(await read(bmc, reading)).toEqual(reading);
  const find = readAnswers(outputs);
  const missing = simulator.requests.filter(
    ({ method, path, query }) => find(method, new URL(`${path}${query}`, 'http://bmc')) === undefined,
  );
  // where settings may be without a link
  expect(missing.map(({ path }) => path).filter((path) => !/\/(SD|Settings)$/.test(path))).toEqual([]);
});

const settable = recordings.filter(({ outputs }) =>
  Object.values(outputs).some((text) => text.includes('BootSourceOverrideTarget@')),
);

test.each(settable)('$name: a boot device is set, the rest stays as it was recorded', async ({ outputs, reading }) => {
  const { bmc } = await begin(outputs);
  const { boot, ...others } = reading;
  expect(boot?.device).not.toBe('bios');
  await bmc.management.setBootDevice('bios', { persistent: false });
  expect(await bmc.management.getBootDevice()).toMatchObject({ bootDevice: 'bios' });
  expect(await read(bmc, others)).toEqual(others);
});

test('what was not recorded is not told, nor done', async () => {
  const [recording] = recordings.filter(({ name }) => name === 'openbmc/no-override');
  const { simulator } = await begin(recording?.outputs ?? {});
  const ask = async (method: string, path: string) => {
    const headers = { authorization: `Basic ${btoa('admin:open sesame')}` };
    return (await fetch(`${simulator.address}/redfish/v1/${path}`, { method, headers })).status;
  };
  expect(await ask('GET', 'Systems/system')).toBe(200);
  expect(await ask('GET', 'Chassis')).toBe(501);
  expect(await ask('POST', 'Systems/system/Actions/ComputerSystem.Reset')).toBe(501);
});

async function read(bmc: Bmc, about: Reading): Promise<Reading> {
  const refusals: string[] = [];
  const orRefused = (error: unknown): 'refused' => {
    refusals.push(errorChain(error));
    return 'refused';
  };
  const found: Reading = {};
  const power = (): Promise<Reading['power']> =>
    bmc.power
      .getPowerState()
      .then((state) => (state?.replace('power ', '') ?? 'unknown') as Reading['power'], orRefused);
  if (about.power !== undefined) found.power = await power();
  if (about.system !== undefined && (await power()) === 'refused') found.system = 'refused';
  if (about.boot !== undefined) {
    const { bootDevice, persistent } = await bmc.management.getBootDevice();
    const mode = (await bmc.management.getBootMode?.()) ?? null;
    found.boot = { device: bootDevice ?? null, ...(persistent === undefined ? {} : { persistent }), mode };
  }
  if (about.volumes !== undefined) {
    found.volumes = await (bmc.raid?.getControllers() ?? Promise.resolve([])).then(
      (controllers) => controllers.flatMap(({ volumes }) => volumes.map(({ name, level }) => `${name} ${level}`)),
      orRefused,
    );
  }
  if (about.media !== undefined) {
    const drives = bmc.virtualMedia?.list() ?? Promise.resolve([]);
    found.media = await drives.then((all) => all.map(({ image }) => image ?? '').join(), orRefused);
  }
  if (about.sensors !== undefined) {
    const sensors = (await bmc.management.getSensors?.()) ?? [];
    found.sensors = Object.fromEntries(sensors.map(({ name, value, health }) => [name, { value, health }]));
  }
  const { says } = about;
  if (says !== undefined) found.says = refusals.every((text) => text.includes(says)) ? says : refusals.join('; ');
  return found;
}
