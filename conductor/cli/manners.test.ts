import { expect, test } from 'vitest';
import { commandFirst } from '#conductor/cli/commands.ts';
import { renderNode } from '#conductor/cli/nodes/show-node.ts';
import { paintStates, wantsColours } from '#conductor/cli/shell/colours.ts';
import { shownTime } from '#conductor/cli/shell/shown-time.ts';
import { createRecordingTerminal } from '#conductor/cli/testing/recording-terminal.ts';

/** Small manners that users of other command lines expect. */

const terminal = createRecordingTerminal((request) =>
  request.startsWith('GET /v1/nodes?') ? { nodes: [] } : new Error(`nobody answers ${request}`),
);

test.each([
  ['list', 'did you mean baton node list?'],
  ['get nodes', 'did you mean baton node list?'],
  ['why n1', 'did you mean baton status?'],
  ['describe n1', 'did you mean baton node show?'],
  ['node list --json', 'did you mean -o json?'],
  ['node list --yaml', 'did you mean -o yaml?'],
])('baton %s', async (words, hint) => {
  await expect(terminal.run(...words.split(' '))).rejects.toThrow(hint);
});

test('what follows a word of another program is not repeated: it may be a secret', async () => {
  await expect(terminal.run('get', 's3cret')).rejects.toThrow(/^no such command: get; /);
});

test('options that every command has may stand before it', async () => {
  expect(JSON.parse(await terminal.run('-o', 'json', 'node', 'list'))).toEqual([]);
  expect(JSON.parse(await terminal.run('--insecure', '--output=json', 'node', 'list'))).toEqual([]);
  expect(commandFirst(['--insecure', 'status'])).toEqual(['status', '--insecure']);
  expect(commandFirst(['node', 'list', '-o', 'json'])).toEqual(['node', 'list', '-o', 'json']);
  // nothing but options is what it was
  expect(commandFirst(['-o', 'json'])).toEqual(['-o', 'json']);
  expect(commandFirst(['--help', '--insecure'])).toEqual(['--help', '--insecure']);
});

test('colours: on a terminal, unless it or its owner wants none', () => {
  expect(wantsColours(true, { TERM: 'xterm' })).toBe(true);
  expect(wantsColours(false, { TERM: 'xterm' })).toBe(false);
  expect(wantsColours(true, { NO_COLOR: '1' })).toBe(false);
  expect(wantsColours(true, { TERM: 'dumb' })).toBe(false);
  const text =
    'failed    n1  deploy\nn2  active  power on\nn3  deploy failed  -\nthe deploy failed\nn4  Critical\nn5  Warning\n';
  expect(paintStates({}, text)).toBe(text);
  expect(paintStates({ hasColours: true }, text)).toBe(
    '\u001b[31mfailed\u001b[0m    n1  deploy\nn2  \u001b[32mactive\u001b[0m  power on\nn3  \u001b[31mdeploy failed\u001b[0m  -\nthe deploy failed\nn4  \u001b[31mCritical\u001b[0m\nn5  \u001b[33mWarning\u001b[0m\n',
  );
});

test('times: by the clock on the wall for a person, as they came for a program', () => {
  const time = '2026-11-29T18:04:05.123456+00:00';
  const at = new Date(time);
  const shown = shownTime({ isTerminal: true }, time);
  expect(shown).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:05$/);
  expect(new Date(shown.replace(' ', 'T')).getTime()).toBe(Math.floor(at.getTime() / 1000) * 1000);
  expect(shownTime({ isTerminal: false }, time)).toBe(time);
  expect(shownTime({ isTerminal: true }, 'never')).toBe('never');
});

test('a node is shown in sections, without what says nothing, an object’s keys on lines of their own', () => {
  const node = {
    uuid: 'u1',
    name: 'n1',
    provision_state: 'active',
    fault: null,
    maintenance: false,
    driver: 'redfish',
    driver_info: { redfish_address: 'https://bmc', redfish_password: '******' },
    traits: ['CUSTOM_A', 'CUSTOM_B'],
    properties: {},
    links: [],
    something_new: 1,
  };
  expect(renderNode(node as unknown as Parameters<typeof renderNode>[0], { isTerminal: false })).toBe(
    `Node
  name    n1
  uuid    u1
  traits  CUSTOM_A, CUSTOM_B

State
  provision_state  active

BMC
  driver              redfish
  driver_info
    redfish_address   https://bmc
    redfish_password  ******

More
  something_new  1
`,
  );
});
