import { gunzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { CommandRunner } from '#agent/commands/command-runner.ts';
import { commandTable } from '#agent/commands/command-table.ts';
import { fakeServices, ranWell } from '#agent/testing/fake-services.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { type Run, run as realRun } from '#shared/process/run.ts';

function recordingRun(answers: Readonly<Record<string, string>> = {}) {
  const commands: string[] = [];
  const run: Run = (command, args) => {
    commands.push([command, ...args].join(' '));
    return Promise.resolve(ranWell(answers[command]));
  };
  return { run, commands };
}

describe('the commands', () => {
  test('standby.sync flushes and answers null', async () => {
    const { run, commands } = recordingRun();
    const runner = new CommandRunner(commandTable, fakeServices({ run }), () => undefined);
    expect(await runner.start('standby.sync', {})).toMatchObject({ command_status: 'SUCCEEDED', command_result: null });
    expect(commands).toEqual(['sync']);
  });

  test('standby.power_off flushes before it powers off', async () => {
    const { run, commands } = recordingRun();
    const runner = new CommandRunner(commandTable, fakeServices({ run }), () => undefined);
    const started = await runner.start('standby.power_off', {});
    expect(started.command_status).toBe('RUNNING');
    expect(await runner.wait(started.id)).toMatchObject({ command_status: 'SUCCEEDED', command_result: null });
    expect(commands).toEqual(['sync', 'poweroff -f']);
  });

  test('system.lockdown asks the agent to stop serving', async () => {
    const locked: boolean[] = [];
    const services = fakeServices({ lockdown: () => locked.push(true) });
    const runner = new CommandRunner(commandTable, services, () => undefined);
    expect((await runner.start('system.lockdown', {})).command_status).toBe('SUCCEEDED');
    expect(locked).toEqual([true]);
  });

  test('log.collect_system_logs packs the log and what programs tell, also that one is missing', async () => {
    const run: Run = (command, args, options) =>
      command === 'tar'
        ? realRun(command, args, options)
        : command === 'dmesg'
          ? Promise.resolve(ranWell('kernel says hello, ipa-agent-token=SeCrEt'))
          : Promise.reject(new AppError('command_failed', `${command} could not be started`));
    const services = fakeServices({ run, recentLog: () => '{"msg":"a log line with ipa-agent-token=SeCrEt"}\n' });
    const runner = new CommandRunner(commandTable, services, () => undefined);
    const result = await runner.start('log.collect_system_logs', {});
    const { system_logs: packed } = result.command_result as { readonly system_logs: string };
    const archive = gunzipSync(Buffer.from(packed, 'base64')).toString('latin1');
    expect(archive).toContain('kernel says hello');
    expect(archive).toContain('a log line');
    expect(archive).toContain('lsblk could not be started');
    expect(archive).toContain('mdstat');
    expect(archive).not.toContain('SeCrEt');
  });

  test.each(['flow.start_flow', 'iscsi.start_iscsi_target'])(
    '%s is of an extension that this agent does not have',
    async (name) => {
      const runner = new CommandRunner(commandTable, fakeServices(), () => undefined);
      await expect(runner.start(name, {})).rejects.toMatchObject({ code: 404 });
    },
  );

  test.each(['standby.prepare_image', 'standby.cache_image', 'poll.set_node_info'])(
    '%s is a command that this agent does not have',
    async (name) => {
      const runner = new CommandRunner(commandTable, fakeServices(), () => undefined);
      await expect(runner.start(name, {})).rejects.toThrow('Invalid command: Unknown command: ');
    },
  );
});
