import { chmod, cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { buildBundles, forNode } from '#conductor/bundle/build-bundles.ts';
import { commands } from '#conductor/cli/commands.ts';
import { completionShells } from '#conductor/cli/completion.ts';
import { manPage } from '#conductor/cli/man-page.ts';
import { settingsHelp } from '#conductor/cli/shell/client-settings.ts';
import { describeSettings } from '#conductor/start/environment.ts';
import { paths } from '#image-build/build-context.ts';
import { composeSbom, readIntegrities } from '#image-build/compose-sbom.ts';
import { readManifest } from '#image-build/manifest.ts';
import { packagesOf } from '#image-build/ramdisk/agent-bundle.ts';
import { licensesText, PackageJson } from '#image-build/ramdisk/licenses.ts';
import { bundleOptions } from '#shared/bundle-options.ts';
import { AppError } from '#shared/errors/app-error.ts';
import packageJson from '../../package.json' with { type: 'json' };

const sources = import.meta.dirname;
/** Below it the package has what a clone has, as far as bundles read it (`importMetaOf`). */
const home = 'usr/lib/baton';
/** Beside the bundles, of the clone. */
const readByBundles = [
  'conductor/board/board.html',
  'conductor/board/board.css',
  'conductor/board/views.css',
  'conductor/kernel/db/migrations',
  'conductor/cluster/kubernetes/kubelet-shutdown.yaml',
  'node_modules/swagger-ui-dist',
];
const ramdiskFiles = ['vmlinuz', 'initrd.img', 'boot-medium.bin', 'boot-medium.json', 'licenses.txt'];

/** `baton demo`: no other program reads it. */
async function buildDemo(folder: string): Promise<void> {
  await build({
    ...bundleOptions,
    ...forNode,
    write: true,
    absWorkingDir: paths.repository,
    entryPoints: ['test/demo/demo.ts'],
    outfile: join(folder, 'demo.cjs'),
    sourcemap: false,
  });
}

/**
 * Puts what a conductor's host gets into `tree`, as it lies below `/`.
 * @throws AppError `invalid_argument` without a ramdisk
 */
export async function stagePackage(tree: string): Promise<void> {
  const bundles = join(tree, home, 'build/bundle');
  const inputs = await buildBundles(bundles);
  await rm(join(bundles, 'stamp'));
  await buildDemo(bundles);
  for (const path of readByBundles) await copy(join(paths.repository, path), join(tree, home, path));
  await copy(paths.nodeBinary, join(tree, home, 'bin/node'));
  for (const name of ramdiskFiles) {
    await copy(join(paths.ramdisk, name), join(tree, home, 'ramdisk', name)).catch((cause: unknown) => {
      throw new AppError('invalid_argument', `there is no ramdisk in ${paths.ramdisk}: npm run image makes it`, {
        cause,
      });
    });
  }
  await copy(join(sources, 'scripts/baton'), join(tree, 'usr/bin/baton'), 0o755);
  await copy(join(sources, 'baton.service'), join(tree, 'lib/systemd/system/baton.service'), 0o644);
  await writeStaged(join(tree, 'etc/baton/baton.env'), settingsFile(), 0o640); // DATABASE_URL may have a password
  await writeCommandHelp(tree);
  const documents = join(tree, 'usr/share/doc/baton');
  await copy(join(paths.repository, 'docs'), documents);
  await copy(join(paths.repository, 'CHANGELOG.md'), join(documents, 'CHANGELOG.md'));
  const npmPackages = packagesOf(inputs).map((path) => join(paths.repository, path));
  const licenses = await licensesText({ npmPackages });
  await writeStaged(
    join(documents, 'sbom.cdx.json'),
    `${JSON.stringify(await listParts(packagesOf(inputs)), undefined, 1)}\n`,
  );
  await writeStaged(
    join(documents, 'copyright'),
    `${await readFile(join(paths.repository, 'LICENSE'), 'utf8')}\n${licenses}`,
  );
}

/** Where each shell looks for completions of its own accord. */
const completionFiles = {
  bash: 'usr/share/bash-completion/completions/baton',
  zsh: 'usr/share/zsh/vendor-completions/_baton',
  fish: 'usr/share/fish/vendor_completions.d/baton.fish',
} as const;

/** Writes the man page, and completions for the shells. */
async function writeCommandHelp(tree: string): Promise<void> {
  for (const { shell, render } of completionShells)
    await writeStaged(join(tree, completionFiles[shell]), render(commands));
  const page = manPage(commands, settingsHelp, packageJson.version);
  const file = join(tree, 'usr/share/man/man1/baton.1.gz');
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, gzipSync(page, { level: 9 }));
}

/** Lists what an auditor asks for: each part of the package with its version, the ramdisk's too. */
async function listParts(directories: readonly string[]): Promise<unknown> {
  const manifest = await readManifest(paths.ramdisk);
  if (manifest === undefined)
    throw new AppError('invalid_argument', `${paths.ramdisk} has no manifest.json: npm run image makes it`);
  const integrities = readIntegrities(await readFile(join(paths.repository, 'package-lock.json'), 'utf8'));
  const npm = await Promise.all(
    directories.map(async (path) => ({
      ...PackageJson.parse(JSON.parse(await readFile(join(paths.repository, path, 'package.json'), 'utf8'))),
      integrity: integrities.get(path),
    })),
  );
  return composeSbom({
    version: packageJson.version,
    node: process.versions.node,
    npm,
    debian: manifest.inputs.packages,
  });
}

export async function copy(from: string, to: string, mode?: number): Promise<void> {
  await mkdir(dirname(to), { recursive: true });
  await cp(from, to, { recursive: true });
  if (mode !== undefined) await chmod(to, mode);
}

export async function writeStaged(path: string, text: string, mode = 0o644): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
  await chmod(path, mode);
}

/** Where the package keeps things, and that it asks callers who they are. */
const packaged: Readonly<Record<string, string>> = {
  BATON_AUTH: 'token',
  BATON_RAMDISK_DIR: '/usr/lib/baton/ramdisk',
  BATON_IMAGES_DIR: '/var/lib/baton/images',
};

const introduction = [
  '# Settings of the conductor: `systemctl restart baton` makes changes take effect. All others are shown with their defaults.',
  '# To serve machines, set BATON_HOST to the address at which they reach this host.',
];

const lineWidth = 100;

/** `/etc/baton/baton.env`, as systemd reads it: every setting with its meaning, commented out but for what the package needs. */
export function settingsFile(): string {
  const settings = describeSettings().map(({ name, meaning, default: fallback }) => {
    const value = packaged[name];
    const assignment = value === undefined ? `#${name}=${fallback.includes(' ') ? '' : fallback}` : `${name}=${value}`;
    return [...wrap(meaning), assignment].join('\n');
  });
  return `${[introduction.join('\n'), ...settings].join('\n\n')}\n`;
}

function wrap(text: string): string[] {
  const lines: string[] = [];
  let line = '#';
  for (const word of text.split(' ')) {
    if (line.length + 1 + word.length > lineWidth) {
      lines.push(line);
      line = '#';
    }
    line += ` ${word}`;
  }
  return [...lines, line];
}
