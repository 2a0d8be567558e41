import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { commands } from '#conductor/cli/commands.ts';
import { completionShells } from '#conductor/cli/completion.ts';
import { run } from '#shared/process/run.ts';

/** Completion in the shells themselves, with a `baton` that knows two nodes. */

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'baton-completion-'));
  const baton = '#!/bin/sh\n[ "$*" = "node list -o name" ] && printf "rack1-a\\nrack1-b\\n"\n';
  await writeFile(join(directory, 'baton'), baton);
  await chmod(join(directory, 'baton'), 0o755);
  for (const { shell, render } of completionShells) await writeFile(join(directory, shell), render(commands));
});
afterAll(() => rm(directory, { recursive: true }));

const inShell = async (argv: readonly [string, ...string[]]): Promise<string[]> => {
  const [program, ...args] = argv;
  const env = { PATH: `${directory}:/usr/bin:/bin`, HOME: directory, LANG: 'C.UTF-8' };
  const { stdout } = await run(program, args, { env, cwd: directory });
  return stdout.split('\n').filter((line) => line !== '');
};

/** Words before the cursor; the last is the one that is being written. */
const asks: Readonly<Record<string, (words: readonly string[]) => Promise<string[]>>> = {
  bash: (words) => {
    const script = `source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _baton; printf '%s\\n' "\${COMPREPLY[@]}"`;
    return inShell(['bash', '--norc', '-c', script, 'bash', join(directory, 'bash'), ...words]);
  },
  zsh: (words) => {
    const script =
      'compdef() {}; compadd() { shift; print -l -- "$@" }; _files() { print files }; ' +
      'source "$1"; shift; words=("$@"); CURRENT=$#; _baton';
    return inShell(['zsh', '-f', '-c', script, 'zsh', join(directory, 'zsh'), ...words]);
  },
  fish: async (words) => {
    const script = 'source $argv[1]; complete -C "$argv[2]"';
    const lines = await inShell(['fish', '--no-config', '-c', script, join(directory, 'fish'), words.join(' ')]);
    return lines.map((line) => line.split('\t')[0] ?? '');
  },
};

test.each(completionShells.map(({ shell }) => shell))(
  '%s completes commands, options and names of nodes',
  async (shell) => {
    const ask = (...words: string[]) => asks[shell]?.(['baton', ...words]) ?? Promise.resolve([]);
    expect(await ask('')).toEqual(expect.arrayContaining(['node', 'deploy', 'status']));
    const nodeWords = await ask('node', '');
    expect(nodeWords).toEqual(expect.arrayContaining(['list', 'show', 'raid']));
    expect(nodeWords).not.toContain('deploy');
    expect(await ask('node', 'raid', '')).toEqual(expect.arrayContaining(['show', 'set', 'clear']));
    expect(await ask('deploy', '--')).toEqual(expect.arrayContaining(['--image', '--wait', '--class']));
    expect(await ask('deploy', '')).toEqual(['rack1-a', 'rack1-b']);
    expect(await ask('power', 'off', 'rack1-a', '')).toEqual(['rack1-a', 'rack1-b']);
    expect(await ask('node', 'trait', 'add', 'ra')).toEqual(expect.arrayContaining(['rack1-a']));
    expect(await ask('deploy', 'rack1-a', '--config-drive', '')).not.toContain('rack1-a');
  },
);
