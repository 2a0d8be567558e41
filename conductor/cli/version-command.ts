import { readFile } from 'node:fs/promises';
import type { Command } from '#conductor/cli/command.ts';
import { print } from '#conductor/cli/print.ts';

/** Written as programs have it; of the clone that the command line runs from, whatever the conductor is. */
export const versionCommand: Command = {
  words: '--version',
  meaning: 'the version of this command line',
  offline: true,
  run: async (context, input) => {
    const text = await readFile(new URL('../../package.json', import.meta.url), 'utf8');
    const { version } = JSON.parse(text) as { readonly version: string };
    print(context, input, { json: { version }, text: `baton ${version}\n` });
  },
};
