import { expect, test } from 'vitest';
import { commands } from '#conductor/cli/commands.ts';
import { manPage } from '#conductor/cli/man-page.ts';
import { settingsHelp } from '#conductor/cli/shell/client-settings.ts';

test('each command stands in it, and no text of theirs is a request', () => {
  const page = manPage(commands, settingsHelp, '1.2.3');
  for (const { words } of commands) expect(page).toContain(`.B baton ${words.replaceAll('-', '\\-')}`);
  expect(page).toMatch(/^\.TH BATON 1 /);
  const requests = page.split('\n').flatMap((line) => /^[.'](\S*)/.exec(line)?.[1] ?? []);
  expect([...new Set(requests)].sort()).toEqual(['B', 'I', 'SH', 'TH', 'TP', 'br']);
});

test('a text that begins as a request stays text', () => {
  const odd = { words: 'odd', meaning: '.so /etc/passwd', run: () => Promise.resolve() };
  expect(manPage([odd], [], '1')).toContain('\n\\&.so /etc/passwd.\n');
});
