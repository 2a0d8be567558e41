import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type RunResult, run } from '#shared/process/run.ts';
import type { GuideStage } from '#test/guides/guide-stage.ts';
import type { GuideScript } from '#test/guides/read-guides.ts';
import { batonProgram } from '#test/support/programs.ts';

/** Ends the script after the first command with another exit code than 0, also amid `a && b`, where `set -e` goes on. */
const watch = `trap 'code=$?; [ $code -eq 0 ] || { echo "line $at: exit code $code" >&2; exit $code; }; at=$LINENO' DEBUG; at=0;`;

/**
 * Runs a section's commands as bash has them, `baton` being this clone's.
 * @returns the script's output; its exit code is that of the first command that failed, whose line stands on standard error
 * @throws Error for a replacement of a word that the section does not have
 */
export async function runScript(script: GuideScript, stage: GuideStage): Promise<RunResult> {
  const { directory, environment } = stage;
  const replace = (text: string): string =>
    [...stage.replacements].reduce((all, [from, to]) => all.replaceAll(from, to), text);
  for (const from of stage.replacements.keys()) {
    const isThere = [script.text, ...script.files.values()].some((text) => text.includes(from));
    if (!isThere) throw new Error(`${script.name}: "${from}" stands in no command of it`);
  }
  for (const [name, text] of script.files) await stage.file(name, replace(text));
  const folder = join(directory, '.guide');
  await mkdir(folder, { recursive: true });
  const file = join(folder, 'script');
  await writeFile(file, `${watch} ${replace(script.text)}\n:\n`);
  await chmod(file, 0o700);
  return run('bash', [file], {
    cwd: directory,
    env: { HOME: directory, ...environment, PATH: `${dirname(batonProgram)}:${process.env['PATH'] ?? ''}` },
    okExitCodes: Array.from({ length: 256 }, (_, code) => code),
    timeoutMs: 20 * 60_000,
  });
}
