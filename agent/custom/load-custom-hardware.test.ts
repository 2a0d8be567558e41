import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { CommandRunner } from '#agent/commands/command-runner.ts';
import { commandTable } from '#agent/commands/command-table.ts';
import { hardwareManager as example } from '#agent/custom/example/acme-nic.ts';
import { loadCustomHardware } from '#agent/custom/load-custom-hardware.ts';
import { activateHardware } from '#agent/hardware/active-hardware.ts';
import { genericHardwareManager } from '#agent/hardware/generic.ts';
import type { HardwareManager } from '#agent/hardware/hardware-manager.ts';
import { fakeServices } from '#agent/testing/fake-services.ts';
import { run } from '#shared/process/run.ts';
import type { Progress } from '#shared/wire/progress.ts';

/** With real programs: /bin/sh is all they need. */

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'baton-steps-'));
});
afterEach(() => rm(directory, { recursive: true }));

const script = (name: string, text: string) =>
  writeFile(join(directory, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
const yaml = (name: string, content: unknown) => writeFile(join(directory, name), JSON.stringify(content));
const stepOf = (more: Readonly<Record<string, unknown>> = {}) => ({
  interface: 'deploy',
  step: 'tune',
  description: 'tunes',
  priority: { deploy: 70 },
  command: ['./tune', 'fixed $HOME'],
  ...more,
});
const load = (modules: Parameters<typeof loadCustomHardware>[0]['modules'] = []) =>
  loadCustomHardware({ modules, scriptDirectory: directory, taken: [genericHardwareManager], run });
const moduleOf = (hardwareManager: unknown, file = 'acme.ts') => ({
  file,
  load: () => Promise.resolve({ hardwareManager }),
});

/** The loaded steps in an agent: its commands as a conductor sends them. */
async function agentWith(managers: readonly HardwareManager[]) {
  const progress: Progress[] = [];
  const services = fakeServices({
    run,
    hardware: await activateHardware([genericHardwareManager, ...managers]),
    reportProgress: () => (report) => progress.push(report),
  });
  const commands = new CommandRunner(commandTable, services, () => undefined);
  const execute = async (args: unknown, step = 'tune') => {
    const params = { step: { interface: 'deploy', step, args }, node: { uuid: 'the-node' } };
    const { id } = await commands.start('deploy.execute_deploy_step', params);
    return commands.wait(id);
  };
  return { commands, progress, execute };
}

describe('script steps', () => {
  test('are advertised, and get their arguments as values: text, JSON, never as shell', async () => {
    await yaml('acme-tune.yaml', {
      steps: [
        stepOf({
          args: {
            text: { type: 'string', description: 'a text', default: 'plain' },
            count: { type: 'integer', description: 'how many', minimum: 1, default: 1 },
          },
        }),
      ],
    });
    await script(
      'tune',
      `echo 'progress:  half way '; echo "just talk"; echo '{"early": 1}'
       printf '{"argument": "%s", "text": "%s", "count": "%s", "node": "%s", "input": %s}\\n' \\
         "$1" "$BATON_ARG_TEXT" "$BATON_ARG_COUNT" "$BATON_NODE_UUID" "$(sed 's/"node":.*/"x":1}/')"`,
    );
    const { managers, problems } = await load();
    expect(problems).toEqual([]);
    const { commands, execute, progress } = await agentWith(managers);
    const list = await commands.start('deploy.get_deploy_steps', {});
    expect(list.command_result).toMatchObject({
      deploy_steps: {
        AcmeTuneScripts: [
          {
            step: 'tune',
            interface: 'deploy',
            priority: 70,
            reboot_requested: false,
            argsinfo: {
              text: { description: 'a text', required: false },
              count: { description: 'how many', required: false },
            },
          },
        ],
      },
      hardware_manager_version: { acme_tune_scripts: expect.stringMatching(/^1-[0-9a-f]{12}$/) as unknown },
    });
    const text = '$(touch /tmp/x); `id` ü';
    expect(await execute({ text, count: 2 })).toMatchObject({
      command_status: 'SUCCEEDED',
      command_result: {
        deploy_result: {
          argument: 'fixed $HOME',
          text,
          count: '2',
          node: 'the-node',
          input: { args: { text, count: 2 } },
        },
      },
    });
    expect(progress).toEqual([{ phase: 'half way' }]);
    expect(await execute({ count: 0 })).toMatchObject({
      command_status: 'FAILED',
      command_error: { details: expect.stringContaining('deploy.tune got bad arguments: count:') as unknown },
    });
  });

  test.each([
    ['echo "the disk is gone" >&2; exit 7', 'FAILED', /exited with 7: the disk is gone/],
    ['exit 95', 'FAILED', /says that it can't on this machine/],
    ['sleep 600 & sleep 600', 'FAILED', /took longer than 300 ms/],
  ])('%s → %s', async (text, status, details) => {
    await yaml('tune.yaml', { steps: [stepOf(text.startsWith('sleep') ? { timeout: 0.3 } : {})] });
    await script('tune', text);
    const { execute } = await agentWith((await load()).managers);
    expect(await execute({})).toMatchObject({
      command_status: status,
      command_error: { details: expect.stringMatching(details) as unknown },
    });
  });

  test('exit code 194 asks for a reboot', async () => {
    await yaml('tune.yaml', { steps: [stepOf()] });
    await script('tune', `echo '{"flashed": true}'; exit 194`);
    const { execute } = await agentWith((await load()).managers);
    expect((await execute({})).command_result).toMatchObject({
      deploy_result: { flashed: true },
      baton_reboot: 'deploy.tune asks for it',
    });
  });

  test('`supported` says whether this is its machine', async () => {
    await script('tune', 'exit 0');
    await script('is-mine', 'exit "$1"');
    for (const code of ['0', '1', '2']) {
      await yaml(`machine-${code}.yaml`, {
        support: 'service_provider',
        supported: ['./is-mine', code],
        steps: [stepOf({ step: `tune_${code}` })],
      });
    }
    const { managers, problems } = await load();
    const support = await Promise.all(managers.map((manager) => manager.evaluateSupport()));
    expect(support).toEqual([3, 0]);
    expect(problems).toEqual([expect.stringMatching(/machine-2\.yaml could not be loaded: .*is-mine 2 exited with 2/)]);
  });
});

describe('what is broken', () => {
  test('spoils nothing else, and is told by name', async () => {
    await yaml('absent.yaml', { steps: [stepOf({ command: ['./absent'] })] });
    await yaml('good.yaml', { steps: [stepOf({ command: ['true'] })] });
    const { managers, problems } = await load([
      { file: 'throws.ts', load: () => Promise.reject(new Error('no such device')) },
      moduleOf(undefined, 'empty.ts'),
      moduleOf({ ...example, version: 1, steps: [{ priorities: { deploy: 100 } }] }, 'wrong.ts'),
      moduleOf({ ...example, evaluateSupport: () => Promise.resolve(9) }, 'support.ts'),
      moduleOf(example),
      moduleOf(example, 'twice.ts'),
      moduleOf({ ...example, className: genericHardwareManager.className }, 'twin.ts'),
    ]);
    expect(managers.map(({ className }) => className)).toEqual(['AcmeNicHardwareManager', 'GoodScripts']);
    expect(problems.join('\n')).toMatch(
      new RegExp(
        [
          'throws.ts could not be loaded: no such device',
          'empty.ts: it must export hardwareManager',
          'wrong.ts: version: .*; steps.0.step: .*; steps.0.priorities.deploy: it must be 41 to 99',
          'support.ts: evaluateSupport must resolve',
          'twice.ts: there is a hardware manager AcmeNicHardwareManager \\(acme_nic\\) already',
          'twin.ts: there is a hardware manager GenericHardwareManager',
          'absent.yaml: .*absent must be a program.*',
        ].join('[^]*'),
      ),
    );
  });

  test('an agent with a problem lists no steps and says why', async () => {
    const commands = new CommandRunner(
      commandTable,
      fakeServices({ hardwareProblems: ['hardware manager acme.ts could not be loaded: no such device'] }),
      () => undefined,
    );
    expect(await commands.start('clean.get_clean_steps', {})).toMatchObject({
      command_status: 'FAILED',
      command_error: { details: 'hardware manager acme.ts could not be loaded: no such device' },
    });
  });

  test('a directory that is not there has no steps', async () => {
    const none = { modules: [], scriptDirectory: '/nonexistent', taken: [], run };
    expect(await loadCustomHardware(none)).toEqual({ managers: [], problems: [] });
  });
});
