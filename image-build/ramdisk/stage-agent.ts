import { X509Certificate } from 'node:crypto';
import { copyFile, cp, mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { listScriptFiles, loadScriptFile } from '#agent/custom/load-script-file.ts';
import { type BuildContext, paths } from '#image-build/build-context.ts';
import { hashOf, sourceHash } from '#image-build/files.ts';
import { type AgentBundle, scriptFolder } from '#image-build/ramdisk/agent-bundle.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** In a directory given by `--extra`: CAs that the agent trusts besides the well-known ones, in PEM. */
const authoritiesFile = 'ca.pem';

/** Lays out what changes often: the scripts that start the agent, the agent, its native addon, script steps, CAs. */
export async function stageAgent(
  context: Pick<BuildContext, 'run'>,
  agent: AgentBundle,
  stage: string,
  extraDirectories: readonly string[],
): Promise<void> {
  await rm(stage, { recursive: true, force: true });
  await cp(join(import.meta.dirname, 'overlay'), stage, { recursive: true, verbatimSymlinks: true });
  const home = join(stage, 'usr/lib/baton');
  const bundle = join(home, 'agent.cjs');
  await writeFile(bundle, agent.code);
  const compile = [
    '--hash-seed=1',
    join(import.meta.dirname, 'compile-agent.ts'),
    bundle,
    join(home, 'agent.bytecode'),
  ];
  await context.run(paths.nodeBinary, compile);
  // where the bundle's `require` looks for it
  const addon = join(home, 'node_modules', paths.terminalAddon.name);
  await mkdir(addon, { recursive: true });
  for (const file of ['package.json', 'pty.node']) {
    await copyFile(join(paths.terminalAddon.directory, file), join(addon, file));
  }
  for (const folder of await scriptFolders(extraDirectories)) {
    await cp(folder, join(home, scriptFolder), { recursive: true, errorOnExist: true, force: false });
  }
  const authorities = await readAuthorities(extraDirectories);
  if (authorities !== '') await writeFile(join(home, authoritiesFile), authorities);
}

/** @throws AppError `invalid_argument` naming the file that is not a certificate. */
export async function readAuthorities(extraDirectories: readonly string[]): Promise<string> {
  const texts = extraDirectories.map(async (directory) => {
    const file = join(directory, authoritiesFile);
    const text = await readFile(file, 'utf8').catch(isMissing);
    if (text === false) return '';
    try {
      void new X509Certificate(text);
    } catch (cause) {
      throw new AppError('invalid_argument', `--extra ${directory}: ${authoritiesFile} must be a PEM certificate`, {
        cause,
      });
    }
    return `${text.trimEnd()}\n`;
  });
  return (await Promise.all(texts)).join('');
}

/**
 * Checks the script steps as the agent will at its start.
 * @throws AppError `invalid_argument` naming the file and what is wrong
 */
export async function checkScripts(context: BuildContext, extraDirectories: readonly string[]): Promise<void> {
  for (const folder of await scriptFolders(extraDirectories)) {
    for (const file of await listScriptFiles(folder)) {
      try {
        await loadScriptFile(folder, file, context.run);
      } catch (cause) {
        throw new AppError('invalid_argument', `--extra ${dirname(folder)}`, { cause });
      }
    }
  }
}

/** One hash over all that `stageAgent` adds to overlay and bundle. */
export async function extraHash(extraDirectories: readonly string[]): Promise<string> {
  const folders = await scriptFolders(extraDirectories);
  const hashes = await Promise.all([...folders, paths.terminalAddon.directory].map((folder) => sourceHash(folder)));
  return hashOf([...hashes, await readAuthorities(extraDirectories)]);
}

async function scriptFolders(extraDirectories: readonly string[]): Promise<readonly string[]> {
  const folders = extraDirectories.map((directory) => join(directory, scriptFolder));
  const present = await Promise.all(folders.map((folder) => stat(folder).then(() => true, isMissing)));
  return folders.filter((_, index) => present[index]);
}

function isMissing(error: NodeJS.ErrnoException): false {
  if (error.code === 'ENOENT') return false;
  throw error;
}
