import { expect, test } from 'vitest';
import { createInstantClock, createRigs } from '#conductor/drivers/redfish/testing/rigs.ts';
import { raidSteps } from '#conductor/flows/driver-steps/raid.ts';
import type { StepContext } from '#conductor/flows/step-context.ts';
import type { Transaction } from '#conductor/kernel/db/open.ts';
import { sendBy } from '#conductor/kernel/db/query/statement.ts';
import { silentLog } from '#shared/log.ts';
import { testSecrets } from '#test/support/test-secrets.ts';

/** Deletion of volumes: at a storage controller that lists no drives, and beside what is there already. */

const { rig } = createRigs();
const place = '/redfish/v1/Systems/1/Storage/RAID.Integrated.1-1';
const stepOf = (name: string) => raidSteps.find(({ step }) => step === name);

type Bmc = Awaited<ReturnType<typeof rig>>;

function runStep(bmc: Bmc, clock: ReturnType<typeof createInstantClock>, step: string, args = {}) {
  const context = {
    db: sendBy({} as Transaction, () => Promise.resolve({ rows: [] })),
    clock,
    log: silentLog,
    bmc: () => bmc,
    secrets: testSecrets,
    node: { uuid: 'n' },
    flow: { uuid: 'f' },
    step: { uuid: 's', interface: 'raid', step, args, output: null, startedAt: null },
    isRepeated: false,
    ask: <T>(wanted: Promise<T>) => wanted,
    record: () => Promise.resolve(),
    signal: new AbortController().signal,
    config: { callbackTimeoutMs: 60_000 },
  };
  return stepOf(step)?.run(context as unknown as StepContext);
}

async function makeMirror(bmc: Bmc, from: number, name: string): Promise<void> {
  const [controller] = (await bmc.raid?.getControllers()) ?? [];
  if (!controller) throw new Error('no controller');
  const drives = controller.drives.slice(from, from + 2);
  await bmc.raid?.createVolume({ controller, level: '1', drives, name, sizeBytes: undefined });
}

async function withVolume(status: object) {
  const clock = createInstantClock();
  const bmc = await rig({ clock, quirks: { volumeApplyTimes: ['Immediate'] } });
  await makeMirror(bmc, 0, 'root');
  const body = { Id: 'RAID.Integrated.1-1', Drives: [], Volumes: { '@odata.id': `${place}/Volumes` }, ...status };
  bmc.simulator.inject({ method: 'GET', path: /RAID\.Integrated\.1-1$/, body, times: Number.POSITIVE_INFINITY });
  return { bmc, run: () => runStep(bmc, clock, 'delete_configuration') };
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

test('a volume is deleted before the step ends, where the BMC forgets its task and the others are there', async () => {
  const clock = createInstantClock();
  const { promise: deleted, resolve: endDeletion } = Promise.withResolvers<void>();
  const bmc = await rig({ clock, quirks: { volumeApplyTimes: ['Immediate'] } });
  await makeMirror(bmc, 0, 'root');
  await makeMirror(bmc, 2, 'old');
  Object.assign(bmc.simulator.quirks, { volumesMadeAfter: deleted });
  bmc.simulator.inject({ method: 'GET', path: /TaskMonitors/, status: 404, times: Number.POSITIVE_INFINITY });
  const args = { raid_config: { logical_disks: [{ size_gb: 'MAX', raid_level: '1', volume_name: 'root' }] } };
  expect(await runStep(bmc, clock, 'apply_configuration', args)).toMatchObject({
    kind: 'again',
    reason: expect.stringContaining('the controller to delete old') as unknown,
  });
  endDeletion();
  await deleted;
  expect(await runStep(bmc, clock, 'apply_configuration', args)).toMatchObject({ kind: 'done' });
});

test('the deletion waits for a controller that starts, whose volumes are not shown yet', async () => {
  const drive = `${place}/Drives/Disk.Bay.0`;
  const { bmc, run } = await withVolume({ Drives: [{ '@odata.id': drive }], Status: { State: 'Starting' } });
  bmc.simulator.inject({ method: 'GET', path: /Volumes$/, body: { Members: [] }, times: Number.POSITIVE_INFINITY });
  await expect(run()).rejects.toMatchObject({ code: 'busy', retryable: true });
  bmc.simulator.clearFaults();
  expect(await run()).toEqual({ kind: 'done' });
  expect((await bmc.raid?.getControllers())?.map(({ volumes }) => volumes)).toEqual([[]]);
});
