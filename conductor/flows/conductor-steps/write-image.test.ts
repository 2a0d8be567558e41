import { expect, test } from 'vitest';
import type { Transaction } from '#conductor/db/open.ts';
import { writeImage } from '#conductor/flows/conductor-steps/write-image.ts';
import type { StepContext } from '#conductor/flows/step-context.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { silentLog } from '#shared/log.ts';
import type { CommandResult } from '#shared/wire/command.ts';

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
  const recorded: unknown[] = [];
  const tx = {
    update: () => ({
      set: (change: { osDisk: unknown }) => ({ where: () => Promise.resolve(recorded.push(change.osDisk)) }),
    }),
  } as unknown as Transaction;
  const context = {
    agent: () => ({
      list: () => Promise.resolve([succeeded('execute_deploy_step', { deploy_result: output })]),
      post: hardware,
    }),
    step: { uuid, step: 'write_image', interface: 'deploy' },
    flow: { kind: 'deploy' },
    node: { uuid },
    log: silentLog,
    record: (write: (to: Transaction) => Promise<void>) => write(tx),
  } as unknown as StepContext;
  return { outcome: await writeImage.resume?.(context), recorded };
}

test('records which disk the image was written to', async () => {
  const output = 'image (demo) written to device /dev/sda root_uuid=0x1';
  const { outcome, recorded } = await end(output, () => Promise.resolve(succeeded('get_hardware_info', inventory)));
  expect(outcome).toEqual({ kind: 'done', output });
  expect(recorded).toMatchObject([{ array_uuid: null, disks: [{ name: '/dev/sda', serial: 'OS', size: 10 }] }]);
});

test.each([
  ['an agent that does not name it', null, inventory],
  ['one that names it otherwise', 'image (demo) written to device /dev/md0', inventory],
  ['one that can’t tell its disks', 'image (demo) written to device /dev/sda', null],
])('%s deploys all the same, and nothing is taken for known', async (_, output, hardware) => {
  const { outcome, recorded } = await end(output, () => Promise.resolve(succeeded('get_hardware_info', hardware)));
  expect(outcome).toMatchObject({ kind: 'done' });
  expect(recorded).toEqual([null]);
});

test('an agent that does not answer for a moment is asked again by the engine', async () => {
  const away = () => Promise.reject(new AppError('unavailable', 'the agent does not answer'));
  await expect(end('image (demo) written to device /dev/sda', away)).rejects.toMatchObject({ retryable: true });
});
