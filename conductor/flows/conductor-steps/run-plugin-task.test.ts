import { expect, test } from 'vitest';
import { runPluginTask } from '#conductor/flows/conductor-steps/run-agent-step.ts';
import type { StepContext } from '#conductor/flows/step-context.ts';
import type { CommandRequest, CommandResult } from '#shared/wire/agent-calls.ts';

const uuid = '11111111-1111-4111-8111-111111111111';
const running: CommandResult = {
  id: uuid,
  command_name: 'execute_deploy_step',
  command_status: 'RUNNING',
  command_error: null,
  command_result: null,
};

function contextWith(commands: CommandResult[], isRepeated: boolean) {
  const sent: CommandRequest[] = [];
  const read: unknown[] = [];
  const files = { run: { content: 'AAAA', executable: true } };
  const context = {
    agent: () => ({
      list: () => Promise.resolve(commands),
      post: (command: CommandRequest) => {
        sent.push(command);
        return Promise.resolve(running);
      },
    }),
    pluginFiles: {
      take: <T>(_: AbortSignal, send: (ask: (which: unknown) => Promise<typeof files>) => Promise<T>) =>
        send((which) => {
          read.push(which);
          return Promise.resolve(files);
        }),
    },
    isRepeated,
    step: {
      uuid,
      step: 'run_plugin_task',
      interface: 'deploy',
      args: {},
      priority: 41,
      plugin: {
        plugin: 'ntp',
        version: '1.0',
        content: 'abc',
        task: 1,
        stage: 'pre_deployment',
        place: 'pre_deployment',
      },
    },
    flow: { kind: 'deploy', hardwareManagerVersion: {} },
    node: { name: 'n1', driverInfo: {}, instanceInfo: {}, properties: {}, sparedDisks: null, extra: {} },
    ask: <T>(answer: Promise<T>) => answer,
    ports: () => Promise.resolve([]),
    signal: new AbortController().signal,
    config: { stepTimeoutMs: Infinity, callbackTimeoutMs: 60_000 },
  };
  return { context: context as unknown as StepContext, sent, read };
}

test('the files of the upload that was planned go with the step', async () => {
  const { context, sent, read } = contextWith([], false);
  expect(await runPluginTask.run(context)).toMatchObject({ kind: 'wait' });
  expect(read).toMatchObject([{ plugin: 'ntp', version: '1.0', content: 'abc' }]);
  expect(sent).toMatchObject([
    { params: { step: { args: { node_name: 'n1', plugin_files: { run: { executable: true } } } } } },
  ]);
});

test('of an agent that has the command already nothing is read or sent', async () => {
  const { context, sent, read } = contextWith([running], true);
  expect(await runPluginTask.run(context)).toMatchObject({ kind: 'wait' });
  expect([sent, read]).toEqual([[], []]);
});
