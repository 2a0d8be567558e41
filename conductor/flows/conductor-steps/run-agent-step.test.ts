import { describe, expect, test } from 'vitest';
import type { AgentClient } from '#conductor/agents/agent-client.ts';
import { isTraceless } from '#conductor/flows/conductor-steps/leave-ramdisk.ts';
import { prepareInstanceBoot } from '#conductor/flows/conductor-steps/prepare-instance-boot.ts';
import { checkAgentStep, runAgentStep } from '#conductor/flows/conductor-steps/run-agent-step.ts';
import type { ConductorStepOutcome, StepContext } from '#conductor/flows/step-context.ts';
import { describeOutput } from '#conductor/model/flows/step-note.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { silentLog } from '#shared/log.ts';
import type { CommandResult } from '#shared/wire/agent-calls.ts';

/** Answers in the shapes of a real ironic-python-agent (spec/captures/agent-api-responses.txt), which makes up its ids. */

const ours = '11111111-1111-4111-8111-111111111111';
const before = '22222222-2222-4222-8222-222222222222';

const answer = (status: string, more: Partial<CommandResult> = {}): CommandResult => ({
  id: 'made-up-by-the-agent',
  command_name: 'execute_deploy_step',
  command_status: status,
  command_error: null,
  command_result: null,
  ...more,
});
const succeeded = (uuid: string) =>
  answer('SUCCEEDED', {
    command_result: {
      deploy_result: 'write_image: done',
      deploy_step: { step: 'write_image', baton_command_id: uuid, args: { configdrive: 'c2VjcmV0' } },
    },
  });
const failed = answer('FAILED', {
  command_error: { type: 'ImageChecksumError', code: 500, message: 'Error', details: 'sha256 is aa, not bb' },
});

function contextWith(agent: Partial<AgentClient>, lastHeartbeatAt = new Date()): StepContext {
  return {
    agent: () => agent,
    step: { uuid: ours, step: 'write_image', interface: 'deploy', args: {}, priority: 80 },
    flow: { kind: 'deploy', hardwareManagerVersion: {} },
    node: { renewedBootDevice: null, driverInfo: {}, instanceInfo: {}, properties: {}, extra: {} },
    ports: () => Promise.resolve([]),
    session: { lastHeartbeatAt },
    clock: { now: () => new Date() },
    log: silentLog,
    hide: (text: string) => text,
    config: { stepTimeoutMs: Infinity, callbackTimeoutMs: 60_000 },
  } as unknown as StepContext;
}
const check = (list: CommandResult[]) => checkAgentStep(contextWith({ list: () => Promise.resolve(list) }));

describe('a command of an agent with ids of its own', () => {
  test('runs', async () => {
    expect(await check([succeeded(before), answer('RUNNING')])).toMatchObject({ kind: 'wait' });
  });

  test('has succeeded: only what the step answered is kept, not what it was sent', async () => {
    expect(await check([succeeded(before), succeeded(ours)])).toEqual({ kind: 'done', output: 'write_image: done' });
  });

  test('has failed, with its cause', async () => {
    await expect(check([succeeded(before), failed])).rejects.toThrow('sha256 is aa, not bb');
  });

  test('met another version', async () => {
    await expect(check([answer('CLEAN_VERSION_MISMATCH')])).rejects.toMatchObject({ code: 'version_mismatch' });
  });

  test('is unknown after a reboot, and is sent again', async () => {
    expect(await check([])).toMatchObject({ kind: 'again' });
    expect(await check([succeeded(before)])).toMatchObject({ kind: 'again' });
  });
});

test('a command that the agent has already is not sent twice', async () => {
  const post = (): Promise<CommandResult> => Promise.reject(new Error('sent twice'));
  const list = () => Promise.resolve([answer('RUNNING', { id: ours })]);
  const context = { ...contextWith({ list, post }), isRepeated: true };
  expect(await runAgentStep.run(context)).toMatchObject({ kind: 'wait' });
});

test('an agent that can’t be reached is waited for while it may be alive, and lost after that', async () => {
  const list = () => Promise.reject(new AppError('unavailable', 'connect: refused'));
  expect(await checkAgentStep(contextWith({ list }))).toMatchObject({
    kind: 'wait',
    reason: expect.stringContaining('connect: refused') as unknown,
  });
  const nonsense = () => Promise.reject(new AppError('agent_error', 'it answered 500: <html>'));
  expect(await checkAgentStep(contextWith({ list: nonsense }))).toMatchObject({ kind: 'wait' });
  const longAgo = new Date(Date.now() - 61_000);
  await expect(checkAgentStep(contextWith({ list }, longAgo))).rejects.toThrow('the agent is lost');
});

describe('install_bootloader, which a conductor that died has started', () => {
  const bootloader = (status: string) => answer(status, { command_name: 'install_bootloader' });
  const prepare = (list: CommandResult[]) => {
    const posted: string[] = [];
    const booted: string[] = [];
    const base = contextWith({
      list: () => Promise.resolve(list),
      // an agent that runs a command takes no other, not even a question
      post: ({ name }) => {
        if (list.some((each) => each.command_status === 'RUNNING')) throw new AppError('busy', 'it answered 409');
        posted.push(name);
        return Promise.resolve(bootloader(name === 'image.install_bootloader' ? 'RUNNING' : 'SUCCEEDED'));
      },
    });
    const outcome = prepareInstanceBoot.run({
      ...base,
      isRepeated: true,
      step: { ...base.step, step: 'prepare_instance_boot', inBand: true },
      node: { ...base.node, properties: { capabilities: 'boot_mode:uefi' } },
      bmc: () => ({
        management: { setBootDevice: (device: string) => Promise.resolve({ persistent: booted.push(device) > 0 }) },
      }),
    } as unknown as StepContext);
    return outcome.then((done) => ({ kind: done.kind, note: noteOf(done), posted, booted }));
  };
  const noteOf = (outcome: ConductorStepOutcome) =>
    outcome.kind === 'done' && 'record' in outcome ? describeOutput(outcome.output) : undefined;

  test('is waited for while it runs, and nothing is asked meanwhile', async () => {
    expect(await prepare([bootloader('RUNNING')])).toEqual({ note: undefined, kind: 'wait', posted: [], booted: [] });
  });
  test('is done when it has ended', async () => {
    expect(await prepare([bootloader('SUCCEEDED')])).toEqual({
      note: undefined,
      kind: 'done',
      posted: [],
      booted: ['disk'],
    });
  });
  test('is done with a warning, which is kept in the step and in the history', async () => {
    const warned = {
      ...bootloader('SUCCEEDED'),
      command_result: { bootloader_result: { warnings: ['no room in NVRAM'] } },
    };
    expect(await prepare([warned])).toEqual({
      kind: 'done',
      note: 'warning: no room in NVRAM',
      posted: [],
      booted: ['disk'],
    });
  });
  test('is sent when the agent does not have it', async () => {
    const posted = ['standby.get_partition_uuids', 'image.install_bootloader'];
    expect(await prepare([succeeded(before)])).toEqual({ note: undefined, kind: 'wait', posted, booted: [] });
  });
});

test('fast track takes over no ramdisk whose commands could be taken for those of the flow that comes', () => {
  const listed = [answer('SUCCEEDED'), answer('FAILED', { command_name: 'get_hardware_info' })];
  expect(isTraceless(listed)).toBe(true);
  expect(isTraceless([...listed, failed])).toBe(false);
  expect(isTraceless([...listed, answer('RUNNING')])).toBe(false);
  expect(isTraceless([...listed, answer('SUCCEEDED', { command_name: 'install_bootloader' })])).toBe(false);
  expect(isTraceless([...listed, answer('SUCCEEDED', { command_name: 'prepare_image' })])).toBe(false);
});
