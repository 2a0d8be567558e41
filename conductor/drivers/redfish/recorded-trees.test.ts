import { expect, test } from 'vitest';
import { z } from 'zod';
import type { Bmc } from '#conductor/drivers/interfaces.ts';
import { redfishHardwareType } from '#conductor/drivers/redfish/redfish.ts';
import { errorChain } from '#shared/errors/app-error.ts';
import { silentLog } from '#shared/log.ts';
import { run } from '#shared/process/run.ts';
import { readRecordings } from '#test/recorded/read-recordings.ts';
import { replayAnswers } from '#test/recorded/replay-answers.ts';

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

test.each(recordings)('$name: $shows', async ({ outputs, reading }) => {
  const server = await replayAnswers(outputs);
  const type = redfishHardwareType({ run, log: silentLog }, { retryMs: 1 });
  const bmc = type.connect({
    redfish_address: server.url,
    redfish_username: 'admin',
    redfish_password: 'open sesame',
    redfish_auth_type: 'basic',
  });
  try {
    expect(await read(bmc, reading)).toEqual(reading);
    // where settings may be without a link
    expect(server.missing.filter((line) => !/\/(SD|Settings)$/.test(line))).toEqual([]);
  } finally {
    await type.close?.();
    await server.close();
  }
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
