import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { CommandRunner } from '#agent/commands/command-runner.ts';
import { commandTable } from '#agent/commands/command-table.ts';
import type { AgentContext } from '#agent/context.ts';
import { hardwareSupport } from '#agent/hardware/hardware-manager.ts';
import { fakeHardware, fakeServices } from '#agent/testing/fake-services.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { defineStep, type StepOutcome } from '#shared/steps/define-step.ts';

function step(run: (context: AgentContext, args: { size?: number | undefined }) => Promise<StepOutcome>) {
  return defineStep<AgentContext, { size?: number | undefined }>({
    interface: 'deploy',
    step: 'probe',
    priorities: { deploy: 50, clean: 50, service: 50 },
    destroys: 'none',
    description: 'test',
    args: z.strictObject({ size: z.number().optional().describe('how big') }),
    run,
  });
}

const probe = { interface: 'deploy', step: 'probe' };

async function execute(
  run: Parameters<typeof step>[0],
  params: Readonly<Record<string, unknown>>,
  kind: 'deploy' | 'clean' | 'service' = 'deploy',
  services: Parameters<typeof fakeServices>[0] = {},
) {
  const runner = new CommandRunner(
    commandTable,
    fakeServices({ hardware: [fakeHardware([step(run)])], ...services }),
    () => undefined,
  );
  const started = await runner.start(`${kind}.execute_${kind}_step`, params);
  return runner.wait(started.id);
}

describe('execute_*_step', () => {
  test('gives back the result and the step as sent', async () => {
    const sent = { ...probe, args: { size: 3 }, priority: 9, baton_command_id: 'id-1' };
    const seen: unknown[] = [];
    const result = await execute(
      async (context, args) => {
        seen.push(args, context.node.uuid, context.node.properties);
        return { kind: 'done', output: ['out', 'err'] };
      },
      { step: sent, node: { uuid: 'n1', properties: { a: 1 }, extra: true }, ports: [] },
    );
    expect(result.command_result).toEqual({ deploy_result: ['out', 'err'], deploy_step: sent });
    expect(seen).toEqual([{ size: 3 }, 'n1', { a: 1 }]);
  });

  test('does not give secrets back', async () => {
    const result = await execute(async () => ({ kind: 'done' }), {
      step: { ...probe, image_info: { image_server_password: 'hunter2', configdrive: 'c2VjcmV0' }, configdrive: 'x' },
    });
    expect(result.command_result).toEqual({
      deploy_result: null,
      deploy_step: {
        ...probe,
        image_info: { image_server_password: '******', configdrive: '******' },
        configdrive: '******',
      },
    });
  });

  test('falls back to the node looked up; no output is null; a reboot says why', async () => {
    const result = await execute(
      async (context) => ({ kind: 'reboot', reason: `flashed ${context.node.uuid}` }),
      { step: probe },
      'clean',
    );
    expect(result.command_result).toEqual({
      clean_result: null,
      clean_step: probe,
      baton_reboot: 'flashed looked-up',
    });
  });

  test.each([
    ['deploy', 'DeploymentError', 'Deploy step failed'],
    ['clean', 'CleaningError', 'Clean step failed'],
    ['service', 'ServicingError', 'Service step failed'],
  ] as const)('a failing %s step is a %s with the whole cause', async (kind, type, message) => {
    const fail = (): Promise<never> =>
      Promise.reject(new AppError('image_error', 'write /dev/vda', { cause: new Error('no space') }));
    expect(await execute(fail, { step: probe }, kind)).toMatchObject({
      command_status: 'FAILED',
      command_error: {
        type,
        code: 500,
        message,
        details: 'write /dev/vda: no space',
        baton_code: 'image_error',
        baton_retryable: false,
      },
      command_result: null,
    });
  });

  test.each([
    [{ step: {} }, 'CommandExecutionError', 'Malformed deploy_step, no "step" key among its keys: none'],
    [{ step: { interface: 'deploy', args: { configdrive: 'x' } } }, 'CommandExecutionError', /keys: interface, args$/],
    [{ step: { interface: 'deploy', step: 'nope' } }, 'HardwareManagerMethodNotFound', 'Could not find method: nope'],
    [{ step: { interface: 'raid', step: 'probe' } }, 'HardwareManagerMethodNotFound', 'Could not find method: probe'],
    [{ step: { ...probe, args: { size: 'x' } } }, 'DeploymentError', /args|size/],
    [{ step: { ...probe, args: { bogus: 1 } } }, 'DeploymentError', /bogus/],
  ])('%j fails as %s', async (params, type, details) => {
    const result = await execute(async () => ({ kind: 'done' }), params);
    expect(result).toMatchObject({ command_status: 'FAILED', command_error: { type } });
    expect(result.command_error?.details).toMatch(details);
  });

  test.each([{}, { step: 'probe' }, { step: probe, node: 'n1' }, { step: probe, bogus: 1 }])(
    'refuses %j',
    async (params) => {
      await expect(execute(async () => ({ kind: 'done' }), params)).rejects.toThrow('Invalid command parameters: ');
    },
  );

  test('another version of the managers is a mismatch, none is not', async () => {
    const done = async (): Promise<StepOutcome> => ({ kind: 'done' });
    expect(await execute(done, { step: probe, deploy_version: { fake_hardware: '2' } })).toMatchObject({
      command_status: 'CLEAN_VERSION_MISMATCH',
      command_error: { type: 'VersionMismatch', code: 409 },
    });
    for (const version of [null, { fake_hardware: '1' }]) {
      const result = await execute(done, { step: probe, deploy_version: version });
      expect(result.command_status).toBe('SUCCEEDED');
    }
  });

  test('where the best manager finds that it can not, the next one runs the step', async () => {
    const incapable = step(() => Promise.reject(new AppError('not_supported', 'no such card')));
    const capable = step(async () => ({ kind: 'done', output: 'generic' }));
    const hardware = [
      fakeHardware([incapable], { className: 'Vendor', name: 'vendor' }, hardwareSupport.serviceProvider),
      fakeHardware([capable]),
    ];
    const result = await execute(async () => ({ kind: 'done' }), { step: probe }, 'deploy', { hardware });
    expect(result.command_result).toMatchObject({ deploy_result: 'generic' });
  });

  test('an in-band step can not wait', async () => {
    const result = await execute(
      async () => ({ kind: 'wait', code: 'time_wait', reason: 'rain', timeoutMs: 1, checkEveryMs: 1 }),
      {
        step: probe,
      },
    );
    expect(result.command_error?.details).toContain('wants to wait for rain');
  });

  test('what a step wrote is told by standby.get_partition_uuids', async () => {
    const writer = step(async ({ writtenImage }) => {
      writtenImage.current = {
        imageId: 'i',
        checksum: 'c',
        device: '/dev/vda',
        rootUuid: '0x12345678',
        headSha256: 'h',
      };
      return { kind: 'done' };
    });
    const services = fakeServices({ hardware: [fakeHardware([writer])] });
    const runner = new CommandRunner(commandTable, services, () => undefined);
    expect((await runner.start('standby.get_partition_uuids', {})).command_result).toEqual({});
    await runner.wait((await runner.start('deploy.execute_deploy_step', { step: probe })).id);
    const { command_result: uuids } = await runner.start('standby.get_partition_uuids', {});
    expect(uuids).toEqual({ 'root uuid': '0x12345678' });
  });
});

describe('get_*_steps', () => {
  test.each(['deploy', 'clean', 'service'] as const)('%s', async (kind) => {
    const hardware = [fakeHardware([step(async () => ({ kind: 'done' }))])];
    const runner = new CommandRunner(commandTable, fakeServices({ hardware }), () => undefined);
    const result = await runner.start(`${kind}.get_${kind}_steps`, { node: { uuid: 'n' }, ports: [] });
    expect(result.command_result).toEqual({
      [`${kind}_steps`]: {
        FakeHardware: [
          {
            step: 'probe',
            priority: 50,
            interface: 'deploy',
            reboot_requested: false,
            ...(kind === 'deploy' ? {} : { abortable: false }),
            argsinfo: { size: { description: 'how big', required: false } },
            baton_args: { size: { types: ['number'] } },
            baton_destroys: 'none',
          },
        ],
      },
      hardware_manager_version: { fake_hardware: '1' },
    });
  });
});
