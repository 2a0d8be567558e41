import { expect, test } from 'vitest';
import { createInstantClock, createRigs } from '#conductor/drivers/redfish/testing/rigs.ts';
import { raidSteps } from '#conductor/flows/driver-steps/raid.ts';
import type { StepContext } from '#conductor/flows/step-context.ts';
import type { Transaction } from '#conductor/kernel/db/open.ts';
import { sendBy } from '#conductor/kernel/db/query/statement.ts';
import { silentLog } from '#shared/log.ts';

/** Deletion at a storage controller that lists no drives, before it and after. */

const { rig } = createRigs();
const place = '/redfish/v1/Systems/1/Storage/RAID.Integrated.1-1';
const deletion = raidSteps.find(({ step }) => step === 'delete_configuration');

async function withVolume(status: object) {
  const clock = createInstantClock();
  const bmc = await rig({ clock, quirks: { volumeApplyTimes: ['Immediate'] } });
  const [controller] = (await bmc.raid?.getControllers()) ?? [];
  if (!controller) throw new Error('no controller');
  const drives = controller.drives.slice(0, 2);
  await bmc.raid?.createVolume({ controller, level: '1', drives, name: 'root', sizeBytes: undefined });
  const body = { Id: 'RAID.Integrated.1-1', Drives: [], Volumes: { '@odata.id': `${place}/Volumes` }, ...status };
  bmc.simulator.inject({ method: 'GET', path: /RAID\.Integrated\.1-1$/, body, times: Number.POSITIVE_INFINITY });
  const db = sendBy({} as Transaction, () => Promise.resolve({ rows: [] }));
  const context = {
    db,
    clock,
    log: silentLog,
    bmc: () => bmc,
    flow: { uuid: 'f' },
    step: { uuid: 's', interface: 'raid', step: 'delete_configuration', args: {}, output: null, startedAt: null },
    isRepeated: false,
    ask: <T>(wanted: Promise<T>) => wanted,
    record: () => Promise.resolve(),
    signal: new AbortController().signal,
    config: { callbackTimeoutMs: 60_000 },
  };
  return { bmc, run: () => deletion?.run(context as unknown as StepContext) };
}

test('volumes of a controller that lists no drives are deleted once it is enabled without them', async () => {
  const { bmc, run } = await withVolume({ Status: { State: 'Enabled' } });
  expect(await run()).toEqual({ kind: 'done' });
  bmc.simulator.clearFaults();
  expect((await bmc.raid?.getControllers())?.map(({ volumes }) => volumes)).toEqual([[]]);
});

test.each([[{}], [{ Status: { State: 'Disabled' } }]])('one that shows %j may be starting', async (status) => {
  const { run } = await withVolume(status);
  expect(await run()).toMatchObject({ kind: 'again', reason: 'the BMC to show its storage controllers again' });
});
