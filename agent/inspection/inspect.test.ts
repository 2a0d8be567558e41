import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Inventory } from '#agent/hardware/inventory.ts';
import { inspect } from '#agent/inspection/inspect.ts';
import { createInstantClock } from '#agent/testing/fake-clock.ts';
import { type FakeConductor, ironicFault, startFakeConductor } from '#agent/testing/fake-conductor.ts';
import { fakeHardware, ranWell } from '#agent/testing/fake-services.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { silentLog } from '#shared/log.ts';
import type { Run } from '#shared/process/run.ts';

const lsblk = { blockdevices: [{ name: 'vda', path: '/dev/vda', type: 'disk', size: 8 * 1024 ** 3 }] };
const inventory = {
  interfaces: [],
  disks: [{ name: '/dev/vda', size: 8 * 1024 ** 3 }],
  boot: { current_boot_mode: 'uefi', pxe_interface: '52:54:00:00:00:01' },
} as unknown as Inventory;
const accepted = { status: 202, body: { uuid: 'u1' } };
const path = /continue_inspection/;

let conductor: FakeConductor;
beforeEach(async () => {
  conductor = await startFakeConductor();
});
afterEach(() => conductor.close());

async function inspectWith(
  options: { collectors?: readonly string[]; programs?: readonly string[]; inventory?: () => Promise<Inventory> } = {},
) {
  const clock = createInstantClock();
  const said: string[] = [];
  const run: Run = (command) =>
    (options.programs ?? ['lsblk', 'tar']).includes(command)
      ? Promise.resolve(ranWell(command === 'lsblk' ? JSON.stringify(lsblk) : ''))
      : Promise.reject(new AppError('command_failed', `${command} could not be started`));
  const services = {
    run,
    log: silentLog,
    say: (line: string) => said.push(line),
    recentLog: () => '',
    hardwareManagers: [fakeHardware([]).manager],
    inventory: options.inventory ?? (() => Promise.resolve(inventory)),
  };
  const target = {
    url: `${conductor.url}/v1/continue_inspection`,
    insecure: false,
    requestTimeoutMs: 60_000,
    globalRequestId: undefined,
    clock,
    random: () => 0.5,
    log: silentLog,
    signal: new AbortController().signal,
  };
  await inspect({ collectors: options.collectors ?? ['default'] }, target, services);
  const sent = conductor.seen.filter((request) => path.test(request.path));
  return { said, sleeps: clock.sleeps, sent, report: sent.at(-1)?.body };
}

test('reports as ironic-python-agent does, without an API version', async () => {
  conductor.answerNext(path, accepted);
  const { said, sent, report } = await inspectWith({ collectors: ['default', 'nonsense'] });
  expect(report).toEqual({
    inventory,
    root_disk: inventory.disks[0],
    boot_interface: '52:54:00:00:00:01',
    configuration: {
      collectors: ['default', 'nonsense'],
      managers: [{ name: 'fake_hardware', version: '1' }],
    },
    baton_texts: expect.objectContaining({ 'lsblk --json': JSON.stringify(lsblk) }) as unknown,
    error: null,
  });
  expect(sent).toMatchObject([{ method: 'POST', version: undefined }]);
  expect(said.at(-1)).toMatch(/accepted by http.* for node u1/);
});

test('waits and tries again while the node is locked, the server fails or does not answer', async () => {
  conductor.answerNext(path, ironicFault(409, 'locked'), ironicFault(503, 'busy'), accepted);
  const { sleeps, sent } = await inspectWith();
  expect(sent).toHaveLength(3);
  expect(sleeps.map((ms) => ms >= 5000 && ms <= 30_000)).toEqual([true, true]);
});

test('gives up after five tries and goes on', async () => {
  conductor.answerNext(path, ...Array.from({ length: 6 }, () => ironicFault(500, 'broken')));
  const { said, sent } = await inspectWith();
  expect(sent).toHaveLength(5);
  expect(said.at(-1)).toMatch(/inspection failed: .*500: broken; going on without/);
});

test('a refusal is not repeated', async () => {
  const { said, sent } = await inspectWith();
  expect(sent).toHaveLength(1);
  expect(said.at(-1)).toMatch(/404: Resource could not be found/);
});

test('a collector that fails is told of; logs and the root disk may be missing', async () => {
  conductor.answerNext(path, accepted, accepted);
  const silent = await inspectWith({ collectors: ['default', 'logs'], programs: [] });
  expect(silent.report).toMatchObject({ root_disk: null, error: null });
  expect(silent.report).not.toHaveProperty('logs');
  const failing = await inspectWith({ inventory: () => Promise.reject(new AppError('storage_error', 'no lsblk')) });
  expect(failing.report).toEqual({ error: 'collector default failed: no lsblk' });
});

test('PCI devices in the form of the collector', async () => {
  conductor.answerNext(path, accepted);
  const { report } = await inspectWith({ collectors: ['pci-devices'] });
  expect(report).toMatchObject({ pci_devices: expect.any(Array) as unknown, error: null });
});
