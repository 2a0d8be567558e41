import { expect, test } from 'vitest';
import {
  cleanOutput,
  isPrompt,
  promptName,
  waitingFor,
  withoutEcho,
} from '#conductor/networks/switches/command-line/prompt.ts';

test.each([
  ['leaf1>', 'leaf1'],
  ['leaf1# ', 'leaf1'],
  ['Welcome\n\nleaf1(config-if-Et1)#', 'leaf1'],
  ['{master:0}\nbaton@leaf1> ', 'baton@leaf1'],
  ['leaf1(s1)(config-s-baton-if-Et1)#', 'leaf1'],
  ['leaf1.11:10:56#', 'leaf1'],
  ['leaf1.11:10:56(config)#', 'leaf1'],
  ['leaf1 11:10:56#', 'leaf1'],
  ['leaf1[11:10](config)#', 'leaf1'],
  ['[11:10:56]leaf1#', 'leaf1'],
  ['11:10:56 leaf1(config)#', 'leaf1'],
  ['sw1%management#', 'sw1'],
  ['sw1(maint-mode)(config)#', 'sw1'],
  ['[leaf1](config)#', '[leaf1]'],
  ['[########            ]  40%', undefined],
  ['Password: ', undefined],
  ['leaf1# show version', undefined],
  ['', undefined],
])('the name in %j is %s', (text, name) => expect(promptName(text)).toBe(name));

test('a mode may shorten a long name; another switch is not a prompt of this one', () => {
  const name = 'a-switch-with-a-very-long-name';
  expect(isPrompt('a-switch-with-a-very(config-if)#', name)).toBe(true);
  expect(isPrompt('leaf2#', 'leaf1')).toBe(false);
  expect(isPrompt('leaf#', 'leaf1')).toBe(false);
});

test.each([
  ['leaf1(config)#', 'prompt'],
  ['other#', 'strange'],
  ['in session baton#', 'strange'],
  ['[####', undefined],
  ['Overwrite the previous NVRAM configuration?[confirm]', 'confirm'],
  ['This command will reboot the system. (y/n)?  [n] ', 'question'],
  ['Destination filename [startup-config]? ', 'question'],
  ['Do you want to continue (yes/no)? ', 'question'],
  ['Copying configuration: [/] ', undefined],
  ['Building configuration...', undefined],
  ['Password:', 'password'],
  ['1 default\n--More-- ', 'more'],
])('%j waits for %s', (text, waiting) => expect(waitingFor(text, 'leaf1')).toBe(waiting));

test('colours, backspaces and line ends of terminals go', () => {
  expect(cleanOutput('\u001b[1mok\u001b[0m\r\r\nlefs\b\baf\r\n')).toBe('ok\nleaf\n');
});

test('the answer has neither echo nor prompt', () => {
  expect(withoutEcho('show vlan\n1 default\n2 show vlan\nleaf1#', 'show vlan')).toBe('1 default\n2 show vlan');
  expect(withoutEcho('\nshow vlan\n1 default\nleaf1#', 'show vlan')).toBe('1 default');
  expect(withoutEcho('exit\nleaf1#\nshow vlan\nleaf1#show vlan\n1 default\nleaf1#', 'show vlan')).toBe('1 default');
});

test.each([
  ['login: leaf1 (Ethernet fabric) 7#', 'strange'],
  ['Welcome\nleaf1 ready >', 'strange'],
  ['leaf1#', 'prompt'],
  ['##########\n', undefined],
  ['Welcome to leaf1', undefined],
])('before the first prompt %j waits for %s', (text, waiting) => expect(waitingFor(text, undefined)).toBe(waiting));
