import { expect, test } from 'vitest';
import { nearestCommand } from '#conductor/cli/nearest-command.ts';

const commands = ['deploy', 'undeploy', 'plan', 'watch', 'node list', 'node show', 'port list', 'power on'];

test.each([
  ['delpoy a', 'deploy'],
  ['deploi', 'deploy'],
  ['unddeploy n1 --wait', 'undeploy'],
  ['node lsit', 'node list'],
  ['nodes show n1', 'node show'],
  ['pla n1', 'plan'],
  ['frobnicate', undefined],
  ['on', undefined],
  ['', undefined],
])('%j: %j', (given, meant) => {
  expect(nearestCommand(given.split(' '), commands)).toBe(meant);
});
