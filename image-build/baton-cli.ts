import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from 'esbuild';
import { type BuildContext, paths } from '#image-build/build-context.ts';
import { bundleOptions } from '#shared/bundle-options.ts';
import { AppError } from '#shared/errors/app-error.ts';

const banner = `#!/usr/bin/env node
if (Number.parseInt(process.versions.node, 10) < 24) {
  process.stderr.write('baton: needs Node.js 24 or newer, this is ' + process.versions.node + '\\n');
  process.exit(2);
}`;

/**
 * Makes `baton-cli`, the command line as one file for any machine with Node.js.
 * @returns its path
 * @throws AppError `internal` for a source that can't be in one file
 */
export async function buildBatonCli(
  context: BuildContext,
  { output = paths.packages }: { readonly output?: string } = {},
): Promise<string> {
  const { outputFiles, warnings } = await build({
    ...bundleOptions,
    absWorkingDir: paths.repository,
    entryPoints: ['conductor/start/baton-cli.ts'],
    minify: true,
    banner: { js: banner },
    outfile: 'baton-cli',
  });
  const [warning] = warnings;
  if (warning) throw new AppError('internal', `${warning.location?.file ?? 'esbuild'}: ${warning.text}`);
  const file = join(output, 'baton-cli');
  await mkdir(output, { recursive: true });
  await writeFile(file, outputFiles[0]?.contents ?? '');
  await chmod(file, 0o755);
  context.say(`package: ${file}`);
  return file;
}
