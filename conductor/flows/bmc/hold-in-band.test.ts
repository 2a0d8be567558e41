import { expect, test } from 'vitest';
import { steps } from '#agent/steps/index.ts';
import { hasEnded } from '#conductor/agents/find-command.ts';
import { secondsByName } from '#conductor/flows/bmc/hold-in-band.ts';
import { CommandResult } from '#shared/wire/agent-calls.ts';

test.each([
  ['deploy.erase_devices', 43_200],
  ['deploy.erase_devices_express', 43_200],
  ['deploy.erase_devices_metadata', undefined],
  ['vendor.nvme_sanitize', 43_200],
  ['management.secure_erase_drives', 43_200],
  ['firmware.update', 3600],
  ['management.update_firmware_sum', 3600],
  ['management.flash_nic', 3600],
  ['bios.apply_configuration', 3600],
  ['raid.create_configuration', 3600],
  ['deploy.write_image', undefined],
  ['deploy.burnin_disk', undefined],
  ['deploy.erase_pstore', undefined],
])('of %s, where its agent does not say it: %s s', (name, seconds) => {
  expect(secondsByName(name)).toBe(seconds);
});

test("Baton's own agent says it of each step whose name would be guessed at", () => {
  const guessed = steps.filter((each) => secondsByName(`${each.interface}.${each.step}`) !== undefined);
  expect(guessed.length).toBeGreaterThan(6);
  expect(guessed.filter(({ mustNotLosePower }) => mustNotLosePower === undefined)).toEqual([]);
});

const command = (id: string, status: string, name = 'execute_clean_step', result: unknown = null) =>
  CommandResult.parse({ id, command_name: name, command_status: status, command_result: result, command_error: null });

test.each([
  ['its own word', [command('s', 'SUCCEEDED')], true],
  ['its own word that it failed', [command('s', 'FAILED')], true],
  ['it runs', [command('s', 'RUNNING')], false],
  ['it runs, after one that ended', [command('a', 'SUCCEEDED'), command('s', 'RUNNING')], false],
  ['another agent, whose step runs', [command('x', 'RUNNING')], false],
  ['another agent, which runs one command at a time', [command('x', 'FAILED')], true],
  ['another agent, at something else', [command('x', 'FAILED'), command('y', 'RUNNING', 'sync')], false],
  ['an agent that has forgotten its commands', [], false],
  ['an agent that has forgotten its steps', [command('x', 'SUCCEEDED', 'get_clean_steps')], false],
])('whether the agent says that a step has ended: %s', (_what, commands, ended) => {
  expect(hasEnded(commands, 's')).toBe(ended);
});
