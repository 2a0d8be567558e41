import { describe, expect, test } from 'vitest';
import { writeImage } from '#conductor/flows/conductor-steps/write-image.ts';
import type { StepContext } from '#conductor/flows/step-context.ts';
import type { Queryable, Transaction } from '#conductor/kernel/db/open.ts';
import { sendBy } from '#conductor/kernel/db/query/statement.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { silentLog } from '#shared/log.ts';
import type { CommandResult } from '#shared/wire/agent-calls.ts';
import { recordChanges } from '#test/support/recorded-changes.ts';
import { testSecrets } from '#test/support/test-secrets.ts';

const uuid = '11111111-1111-4111-8111-111111111111';
const succeeded = (name: string, result: unknown): CommandResult => ({
  id: uuid,
  command_name: name,
  command_status: 'SUCCEEDED',
  command_error: null,
  command_result: result,
});
const inventory = {
  interfaces: [],
  disks: [
    { name: '/dev/sda', serial: 'OS', size: 10 },
    { name: '/dev/sdb', serial: 'B' },
  ],
};

/** The step's end, with what the agent says of its disks; gives what is recorded on the node. */
async function end(output: unknown, hardware: () => Promise<CommandResult>) {
  const { tx, recorded } = recordChanges();
  const context = {
    agent: () => ({
      list: () => Promise.resolve([succeeded('execute_deploy_step', { deploy_result: output })]),
      post: hardware,
    }),
    step: { uuid, step: 'write_image', interface: 'deploy' },
    flow: { uuid: 'f', kind: 'deploy' },
    node: { uuid, instanceInfo: { image_source: 'http://x/images/debian.caibx', image_checksum: 'a'.repeat(64) } },
    log: silentLog,
    record: (write: (to: Transaction) => Promise<void>) => write(tx),
  } as unknown as StepContext;
  return { outcome: await writeImage.resume?.(context), recorded };
}

test('records which disk the image was written to, and which image in chunks it was', async () => {
  const output = 'image (demo) written to device /dev/sda root_uuid=0x1';
  const { outcome, recorded } = await end(output, () => Promise.resolve(succeeded('get_hardware_info', inventory)));
  expect(outcome).toEqual({ kind: 'done', output });
  const disks = [{ name: '/dev/sda', serial: 'OS', size: 10 }];
  const image = { name: 'debian', sha256: 'a'.repeat(64) };
  expect(recorded).toMatchObject([{ os_disk: { flow: 'f', array_uuid: null, disks, image } }]);
});

test.each([
  ['an agent that does not name it', null, inventory],
  ['one that names it otherwise', 'image (demo) written to device /dev/md0', inventory],
  ['one that can’t tell its disks', 'image (demo) written to device /dev/sda', null],
])('%s deploys all the same, and nothing is taken for known', async (_, output, hardware) => {
  const { outcome, recorded } = await end(output, () => Promise.resolve(succeeded('get_hardware_info', hardware)));
  expect(outcome).toMatchObject({ kind: 'done' });
  expect(recorded).toEqual([{ os_disk: null }]);
});

test('an agent that does not answer for a moment is asked again by the engine', async () => {
  const away = () => Promise.reject(new AppError('unavailable', 'the agent does not answer'));
  await expect(end('image (demo) written to device /dev/sda', away)).rejects.toMatchObject({ retryable: true });
});

const nothingStored = () => Promise.resolve({ rows: [] });

describe('an earlier record, when a write begins that breaks off', () => {
  const disks = [
    { name: '/dev/sda', serial: 'A', size: 10 * 1024 ** 3 },
    { name: '/dev/sdb', serial: 'B', size: 20 * 1024 ** 3 },
  ];

  async function begin(serial: string, hints: object): Promise<unknown[]> {
    const { tx, recorded } = recordChanges();
    const rows = Object.assign(Promise.resolve([]), { limit: () => Promise.resolve([]) });
    const instanceInfo = {
      image_source: 'https://images.example/demo.raw',
      image_checksum: 'a'.repeat(64),
      root_device: hints,
    };
    const node = {
      uuid,
      name: 'n1',
      driverInfo: {},
      properties: {},
      extra: {},
      instanceInfo,
      sparedDisks: null,
      osDisk: {
        disks: [{ name: '/dev/sdx', serial, wwn: null, model: null, size: null }],
        array_uuid: null,
        flow: 'old',
      },
    };
    const context = {
      agent: () => ({
        list: () => Promise.resolve([]),
        post: ({ name }: { name: string }) =>
          name === 'poll.get_hardware_info'
            ? Promise.resolve(succeeded('get_hardware_info', { interfaces: [], disks }))
            : Promise.reject(new AppError('agent_error', 'broken off')),
      }),
      db: sendBy({ select: () => ({ from: () => ({ where: () => rows }) }) } as unknown as Queryable, nothingStored),
      step: { uuid, step: 'write_image', interface: 'deploy', args: {}, priority: 80 },
      flow: { uuid: 'new', kind: 'deploy', hardwareManagerVersion: {} },
      node,
      secrets: testSecrets,
      log: silentLog,
      config: { outbound: { images: { isAllowed: () => true } } },
      ports: () => Promise.resolve([]),
      ask: <T>(wanted: Promise<T>) => wanted,
      record: (write: (to: Transaction) => Promise<void>) => write(tx),
    } as unknown as StepContext;
    await expect(writeImage.run(context)).rejects.toThrow('broken off');
    return recorded;
  }

  test('is forgotten where another disk was to be written: the recorded one may hold data now', async () => {
    expect(await begin('A', { serial: 'B' })).toEqual([{ os_disk: null }]);
  });

  test('stays where it is the same disk, so that preserving can be tried again', async () => {
    expect(await begin('A', { serial: 'A' })).toMatchObject([
      { os_disk: { disks: [{ name: '/dev/sda', serial: 'A' }], flow: 'new' } },
    ]);
  });
});
